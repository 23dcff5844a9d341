"""botocore's service models at work from the server's side: reads a request against its input shape, builds an answer."""
import base64
import json
import random
from datetime import datetime, timezone
from xml.sax.saxutils import escape

import botocore.session
from botocore.validate import ParamValidator

session = botocore.session.get_session()
models = {s: session.get_service_model(s) for s in ('ec2', 'sts', 'pricing', 'service-quotas', 'savingsplans')}


def operation(request):
    """(service model, operation model, parameters as the client's user gives them); raises ValueError for what does not fit."""
    target = request.headers.get('x-amz-target')
    if target:
        service = models['pricing' if target.startswith('AWSPriceListService.') else 'service-quotas']
        name = target.split('.')[1]
        want = service.metadata['targetPrefix'] + '.' + name
        if target != want or request.headers['content-type'] != 'application/x-amz-json-' + service.metadata['jsonVersion']:
            raise ValueError('target %s or content type' % target)
        params = json.loads(request.body)
    elif request.path != '/':
        service = models['savingsplans']
        name = next((n for n in service.operation_names if service.operation_model(n).http['requestUri'] == request.path
                     and service.operation_model(n).http['method'] == request.method), None)
        if name is None:
            raise ValueError('no operation at %s %s' % (request.method, request.path))
        params = json.loads(request.body)
    else:
        form = request.form()
        service = models['sts' if form.get('Version') == models['sts'].api_version else 'ec2']
        name = form.pop('Action')
        if form.pop('Version') != service.api_version or request.method != 'POST':
            raise ValueError('version or method')
        params = read_form(service.operation_model(name).input_shape, form, '', service.metadata['protocol']) or {}
        if form:
            raise ValueError('%s has no parameter %s' % (name, ', '.join(form)))
    op = service.operation_model(name)
    report = ParamValidator().validate(params, op.input_shape)
    if report.has_errors():
        raise ValueError(report.generate_report())
    return service, op, params


def wire_name(protocol, member, shape):
    if protocol != 'ec2':
        return shape.serialization.get('name', member)
    name = shape.serialization.get('queryName')
    if name is None:
        name = shape.serialization.get('name', member)
        name = name[:1].upper() + name[1:]
    return name


def read_form(shape, form, prefix, protocol):
    """Takes the parameters below prefix out of the form; None if there is none."""
    if shape is None:
        return None
    if shape.type_name == 'structure':
        out = {}
        for member, s in shape.members.items():
            v = read_form(s, form, (prefix + '.' if prefix else '') + wire_name(protocol, member, s), protocol)
            if v is not None:
                out[member] = v
        return out or None
    if shape.type_name == 'list':
        out = []
        between = '' if protocol == 'ec2' or shape.serialization.get('flattened') else '.member'
        while True:
            v = read_form(shape.member, form, '%s%s.%d' % (prefix, between, len(out) + 1), protocol)
            if v is None:
                return out or None
            out.append(v)
    if prefix not in form:
        return None
    text = form.pop(prefix)
    kind = shape.type_name
    if kind in ('integer', 'long'):
        return int(text)
    if kind in ('double', 'float'):
        return float(text)
    if kind == 'boolean':
        return {'true': True, 'false': False}[text]
    if kind == 'timestamp':
        return datetime.fromisoformat(text.replace('Z', '+00:00'))
    if kind == 'blob':
        return base64.b64decode(text, validate=True)
    if shape.enum and text not in shape.enum:
        raise ValueError('%s: %s is none of the model' % (prefix, text))
    return text


WORDS = 'alpha-1', 'b & c', '<d>', '\u00e9t\u00e9', '0.5', 'zone "q"', ''


def build(shape, rng, depth=0):
    """A value of the shape, every member there most of the time."""
    kind = shape.type_name
    if kind == 'structure':
        return {m: build(s, rng, depth + 1) for m, s in shape.members.items() if depth < 7 and rng.random() < 0.9}
    if kind == 'list':
        return [build(shape.member, rng, depth + 1) for _ in range(rng.randint(0, 2))] if depth < 7 else []
    if kind == 'map':
        return {}
    if kind in ('integer', 'long'):
        return rng.randint(1, 400)
    if kind in ('double', 'float'):
        return round(rng.random() * 100, 3)
    if kind == 'boolean':
        return rng.random() < 0.5
    if kind == 'timestamp':
        return datetime.fromtimestamp(rng.randint(1700000000, 1795990000), timezone.utc)
    if kind == 'blob':
        return b'x'
    return rng.choice(shape.enum) if shape.enum else rng.choice(WORDS)


def to_xml(name, shape, value):
    if shape.type_name == 'structure':
        inside = ''.join(to_xml(s.serialization.get('name', m), s, value[m]) for m, s in shape.members.items() if m in value)
    elif shape.type_name == 'list':
        item = shape.member.serialization.get('name', 'item' if shape.serialization.get('flattened') is None else name)
        if shape.serialization.get('flattened'):
            return ''.join(to_xml(name, shape.member, v) for v in value)
        inside = ''.join(to_xml(item, shape.member, v) for v in value)
    elif shape.type_name == 'timestamp':
        inside = value.strftime('%Y-%m-%dT%H:%M:%S.000Z')
    elif shape.type_name == 'boolean':
        inside = 'true' if value else 'false'
    else:
        inside = escape(str(value))
    return '<%s>%s</%s>' % (name, inside, name) if inside else '<%s/>' % name


def answer(service, op, value):
    """The bytes of an answer of that operation."""
    if service.metadata['protocol'] in ('ec2', 'query'):
        body = to_xml(op.name + 'Response', op.output_shape, value)
        if service.metadata['protocol'] == 'query':
            inside = to_xml(op.output_shape.serialization.get('resultWrapper', op.name + 'Result'), op.output_shape, value)
            body = '<%sResponse xmlns="%s">%s</%sResponse>' % (op.name, service.metadata['xmlNamespace'], inside, op.name)
        return 200, {'Content-Type': 'text/xml;charset=UTF-8'}, ('<?xml version="1.0" encoding="UTF-8"?>\n' + body).encode()
    return 200, {'Content-Type': 'application/json'}, json.dumps(value).encode()


def rng(seed):
    return random.Random(seed)
