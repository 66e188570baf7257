import { expect, it } from 'vitest'
import { healthTarget } from '../../src/container/health.js'

const at = (host: string, port: number) => ({ host, port })

it('finds the port that the command of a container serves', () => {
  const cases: [string[], Record<string, string>, ReturnType<typeof at> | null][] = [
    [['worker', 'books.ts'], {}, null],
    [['worker', 'books.ts'], { SHOAL_METRICS: '' }, null],
    [['worker', 'books.ts'], { SHOAL_METRICS: '0.0.0.0:9464' }, at('127.0.0.1', 9464)],
    [['worker', 'books.ts'], { SHOAL_METRICS: '9464' }, at('127.0.0.1', 9464)],
    [['worker', 'books.ts', '--metrics', '9000'], { SHOAL_METRICS: '9464' }, at('127.0.0.1', 9000)],
    [['worker', '--metrics=[::]:9000', 'books.ts'], {}, at('127.0.0.1', 9000)],
    [['worker', '--metrics', '[fd00::7]:9000'], {}, at('fd00::7', 9000)],
    [['worker', '--metrics', 'metrics.internal:9000'], {}, at('metrics.internal', 9000)],
    [['schedule', 'run', 'books.ts', '--metrics', '9464'], {}, at('127.0.0.1', 9464)],
    [['dashboard'], {}, at('127.0.0.1', 7373)],
    [['dashboard', '--port', '8000', '--host', '0.0.0.0'], {}, at('127.0.0.1', 8000)],
    [['--json', 'dashboard', 'books.ts'], { SHOAL_DASHBOARD_PORT: '8000' }, at('127.0.0.1', 8000)],
    [['run', 'books.ts', '--dashboard'], {}, at('127.0.0.1', 7373)],
    [['dashboard', '--port', '0'], {}, null],
    // Kubernetes sets this for a service called `shoal-dashboard`: it is an address, and not ours.
    [['dashboard'], { SHOAL_DASHBOARD_PORT: 'tcp://10.0.0.7:7373' }, at('127.0.0.1', 7373)],
    [['worker', '--metrics', 'nonsense'], {}, null],
    [['worker', '--metrics'], {}, null],
    [['records', 'list'], {}, null],
    [[], {}, null],
  ]
  for (const [argv, env, expected] of cases) expect(healthTarget(argv, env), argv.join(' ')).toEqual(expected)
})
