import { FIGURES } from '../dist/simulate/figures.js'
import { printBars, round, table, versions } from './report.js'
import { measureCrawls } from './sizing/crawls.js'
import { judge } from './sizing/judge.js'
import { measureRedis } from './sizing/redis.js'
import { measurePostgres, measureSqlite } from './sizing/stores.js'

/** In this order: the crawls come first, because the CPU of a page is what the other CPU figures are compared with. */
const PARTS = {
  crawls: async () => figuresOfCrawls(await measureCrawls()),
  redis: async () => ({ redis: await measureRedis() }),
  postgres: async () => ({ postgres: await measurePostgres() }),
  sqlite: async () => ({ sqlite: await measureSqlite() }),
}

/** What a page and a URL cost, measured again, next to the figures that sizing and simulation compute with. */
export async function run({ only, json }) {
  const unknown = (only ?? []).filter((name) => PARTS[name] === undefined)
  if (unknown.length > 0) throw new Error(`--only knows ${Object.keys(PARTS).join(', ')}, not ${unknown}`)
  console.error('about 3 minutes, with nothing else running on this machine')
  const measured = {}
  for (const [name, measure] of Object.entries(PARTS)) {
    if (only !== undefined && !only.includes(name)) continue
    for (const [part, figures] of Object.entries(await measure())) measured[part] = { ...measured[part], ...figures }
  }
  const rows = judge(FIGURES, measured)
  console.log(`\n${versions()}; CPU in µs, sizes in bytes; CPU is judged relative to that of a page\n`)
  console.log(
    table(
      ['figure', 'in figures.ts', 'measured', '× expected', 'may be off by'],
      rows.map(({ name, figure, measured: now, ratio, most }) => [name, figure, short(now), round(ratio), `${most} ×`]),
    ),
  )
  console.log('')
  const off = rows.filter(({ holds }) => !holds)
  const passed = printBars([
    {
      text: 'every figure of src/simulate/figures.ts within what noise explains',
      value: off.length === 0 ? `${rows.length} of ${rows.length}` : off.map(({ name }) => name).join(', '),
      holds: off.length === 0,
    },
  ])
  if (json) console.log(JSON.stringify({ bench: 'sizing', figures: rows }))
  return passed
}

function figuresOfCrawls({ rules, handler, polite }) {
  return {
    worker: {
      rulesUsPerPage: rules.workerUsPerPage,
      handlerUsPerPage: handler.workerUsPerPage,
      politeUsPerPage: polite.workerUsPerPage,
      startUs: Math.min(rules.startUs, handler.startUs, polite.startUs),
      memoryBytes: rules.memoryBytes,
    },
    redis: {
      busyUsPerPage: rules.redisUsPerPage,
      politeUsPerPage: polite.redisUsPerPage,
      busyCallsPerPage: rules.callsPerPage,
      politeCallsPerPage: polite.callsPerPage,
      networkBytesPerPage: polite.redisBytesPerPage,
    },
    postgres: { politeUsPerPage: polite.postgresUsPerPage },
  }
}

function short(number) {
  return number < 100 ? round(number, 1) : Math.round(number)
}
