"""Objects of the models that an OpenAPI generator made of slurmrestd's documents: built whole, checked, read back."""
import functools
import inspect
import re
import types
import typing

from pydantic import BaseModel


def bare(tp):
    """The type without Optional and constraints; of a union the first."""
    while True:
        origin = typing.get_origin(tp)
        if origin is typing.Annotated:
            tp = typing.get_args(tp)[0]
        elif origin in (typing.Union, types.UnionType):
            tp = next(t for t in typing.get_args(tp) if t is not type(None))
        else:
            return tp


def is_model(tp):
    return isinstance(tp, type) and issubclass(tp, BaseModel)


def field(model, key):
    for name, f in model.model_fields.items():
        if (f.alias or name) == key:
            return f
    return None


@functools.lru_cache(None)
def words(model, key):
    """What words a field may have, by its model; [] if any."""
    for d in model.__pydantic_decorators__.field_validators.values():
        found = re.search(r"set\(\[(.*?)\]\)", inspect.getsource(d.func), re.S)
        if key in d.info.fields and found:
            return re.findall(r"'([^']*)'", found.group(1))
    return []


def inside(model, *path):
    """The model of a field of a field, through lists."""
    for key in path:
        tp = bare(field(model, key).annotation)
        model = bare(typing.get_args(tp)[0]) if typing.get_origin(tp) is list else tp
    return model


def is_number_object(tp):
    return is_model(tp) and set(tp.model_fields) == {"set", "infinite", "number"}


def some(tp, rng, allowed=()):
    tp = bare(tp)
    if typing.get_origin(tp) is list:
        inner = typing.get_args(tp)[0]
        return [some(inner, rng, allowed)] if bare(inner) is not typing.Any else []
    if is_number_object(tp):
        return {"set": True, "infinite": False, "number": rng.randrange(1, 60000)}
    if is_model(tp):
        return whole(tp, rng)
    if tp is str:
        return rng.choice(allowed) if allowed else f"x{rng.randrange(99)}"
    if tp is bool:
        return rng.random() < 0.5
    if tp in (int, float):
        return rng.randrange(1, 60000)
    return {}


def whole(model, rng, **given):
    """An object with every field that the model has: those given, the others of their kind at random."""
    out = {}
    for name, f in model.model_fields.items():
        key = f.alias or name
        out[key] = given.pop(key) if key in given else some(f.annotation, rng, words(model, name))
    assert not given, f"{model.__name__} has no {sorted(given)}"
    return out


def as_field(model, key, value):
    """A number or words as this version has them in a field: plain, an object, a list. None: not set."""
    tp = bare(field(model, key).annotation)
    if is_number_object(tp):
        return {"set": value is not None, "infinite": False, "number": value or 0}
    if typing.get_origin(tp) is list:
        return value if isinstance(value, list) else [value]
    return value[0] if isinstance(value, list) else 0 if value is None and tp is int else value


def plain(value):
    """What a client holds in a field: a number object as its number or None, a lone word as a list of it."""
    if is_model(type(value)) and is_number_object(type(value)):
        return value.number if value.set and not value.infinite else None
    return value


def lost(model, obj, at="$"):
    """What of an object the model does not know or does not take, in words."""
    out = []
    if not isinstance(obj, dict):
        return [f"{at}: no object"]
    for key, value in obj.items():
        f = field(model, key)
        if f is None:
            out.append(f"{at}.{key}: the model has no such field")
            continue
        tp = bare(f.annotation)
        if is_model(tp):
            out += lost(tp, value, f"{at}.{key}")
        elif typing.get_origin(tp) is list and is_model(bare(typing.get_args(tp)[0])):
            for item in value:
                out += lost(bare(typing.get_args(tp)[0]), item, f"{at}.{key}[]")
    if not out:
        try:
            model.from_dict(obj)
        except Exception as e:		# whatever its classes raise is a refusal
            out.append(f"{at}: {e}")
    return out
