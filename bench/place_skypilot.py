"""For bench/place-skypilot: makes offers and jobs, runs SkyPilot's optimizer on them, compares."""
import csv
import json
import os
import random
import sys
import time

GPUS = {'H100': ('H100-SXM5-80GB', 80), 'A100-80GB': ('A100-SXM4-80GB', 80), 'A100': ('A100-SXM4-40GB', 40),
        'L4': ('L4', 24), 'L40S': ('L40S', 48), 'H200': ('H200', 141)}
REGIONS = ['us-east-1', 'us-east-2', 'us-west-2', 'eu-west-1', 'eu-central-1', 'ap-northeast-1', 'ap-southeast-2']


def make(top, n_jobs):
    rng = random.Random(7)
    catalog = os.path.join(top, 'home/.sky/catalogs/v8')
    os.makedirs(catalog + '/aws')
    os.makedirs(catalog + '/common')
    with open(catalog + '/common/accelerators.csv', 'w') as f:
        f.write('AcceleratorName,AcceleratorMemory,Clouds\n')
        for g, (_, m) in GPUS.items():
            f.write('%s,%d,aws\n' % (g, m))
    with open(catalog + '/aws/vms.csv', 'w') as sky, open(os.path.join(top, 'offers.csv'), 'w') as own:
        s, o = csv.writer(sky), csv.writer(own)
        s.writerow('InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,'
                   'AvailabilityZone'.split(','))
        o.writerow('provider,region,zone,instance_type,accelerator,accelerator_count,purchase,price_per_hour,currency'.split(','))
        for g, (name, m) in GPUS.items():
            for n in (1, 2, 4, 8):
                for r in REGIONS:
                    price = round(n * m / 40 * rng.uniform(.8, 1.4), 4)
                    kind = 'x-%s-%d' % (g.lower(), n)
                    for z in 'ab':
                        s.writerow([kind, g, n, 8 * n, 64 * n, "{'Gpus': [{'Name': '%s', 'Count': %d.0}]}" % (g, n), price,
                                    round(price * .35, 4), r, r + z])
                        o.writerow(['aws', r, r + z, kind, name, n, 'on_demand', price, 'USD'])
    jobs = []
    for k in range(n_jobs):
        g, n = rng.choice(sorted(GPUS)), rng.choice((1, 2, 4, 8))
        jobs.append((g, n))
        with open(os.path.join(top, 'job-%03d.yaml' % k), 'w') as f:
            f.write('schema: berth.job/1\nname: job-%03d\naccelerators: ["%s:%d"]\nwork: 1h\npurchase: [on_demand]\nrun: make\n'
                    % (k, GPUS[g][0], n))
    json.dump(jobs, open(os.path.join(top, 'jobs.json'), 'w'))


def optimize(top):
    os.environ['SKYPILOT_DISABLE_USAGE_COLLECTION'] = '1'
    import sky
    import sky.check
    from sky import optimizer
    from sky.utils import registry
    clouds = [registry.CLOUD_REGISTRY.from_str('aws')]
    sky.check.get_cached_enabled_clouds_or_refresh = lambda *a, **k: clouds     # no account is asked
    price, spent = [], 0
    jobs = json.load(open(os.path.join(top, 'jobs.json')))
    for warm in (True, False):                                                  # its catalog is read at the first call
        for g, n in jobs[:1] if warm else jobs:
            t = time.time()
            with sky.Dag() as dag:
                task = sky.Task(name='job', run='make')
                task.set_resources(sky.Resources(accelerators='%s:%d' % (g, n)))
            optimizer.Optimizer.optimize(dag, quiet=True)
            if not warm:
                spent += time.time() - t
                price.append(task.best_resources.get_cost(3600))
    json.dump({'seconds': spent, 'price': price}, open(os.path.join(top, 'sky.json'), 'w'))


def compare(top, seconds):
    sky = json.load(open(os.path.join(top, 'sky.json')))
    ours = {j['name']: j['offer']['price_per_hour'] for j in json.load(open(os.path.join(top, 'place.json')))['jobs']}
    own = [ours['job-%03d' % k] for k in range(len(sky['price']))]
    dearer = sum(a > b + 1e-6 for a, b in zip(own, sky['price']))
    print('%d jobs, %d offers' % (len(own), len(GPUS) * 4 * len(REGIONS) * 2))
    print('%-10s %12s %10s' % ('', 'USD AN HOUR', 'SECONDS'))
    print('%-10s %12.4f %10.3f' % ('SkyPilot', sum(sky['price']), sky['seconds']))
    print('%-10s %12.4f %10.3f' % ('berth', sum(own), seconds))
    print('ratio      %12.4f %10.1f   dearer in %d jobs' % (sum(own) / sum(sky['price']), sky['seconds'] / seconds, dearer))
    sys.exit(dearer > 0 or sky['seconds'] < 20 * seconds)


if __name__ == '__main__':
    if sys.argv[1] == 'make':
        make(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1] == 'optimize':
        optimize(sys.argv[2])
    else:
        compare(sys.argv[2], float(sys.argv[3]))
