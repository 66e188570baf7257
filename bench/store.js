import { measureExports } from './export.js'
import { printBars, table, versions } from './report.js'
import { compareGrowth } from './store/growth.js'
import { compareReparse } from './store/reparse.js'
import { measureRetention } from './store/retention.js'
import { CONTENDERS, compareWrites } from './store/write.js'

/** `npm run bench -- export` has more. */
const EXPORTED = ['jsonl', 'csv', 'parquet']
const SIZES = {
  full: {
    write: { records: 4_000, rounds: 11 },
    growth: { rows: 10_000_000, records: 8_000, rounds: 11 },
    export: { records: 1_000_000, formats: EXPORTED },
    reparse: { pages: 40_000, rounds: 3 },
    retention: { rows: 1_000_000, rounds: 3 },
  },
  quick: {
    write: { records: 2_000, rounds: 3 },
    growth: { rows: 1_000_000, records: 4_000, rounds: 3 },
    export: { records: 500_000, formats: EXPORTED },
    reparse: { pages: 12_000, rounds: 1 },
    retention: { rows: 1_000_000, rounds: 1 },
  },
}
const PARTS = {
  write: compareWrites,
  growth: compareGrowth,
  export: measureExports,
  reparse: compareReparse,
  retention: measureRetention,
}

/** `only` takes parts and names of contenders of `write`; `pages` is the count of records, rows or pages of each part. */
export async function run({ pages, rounds, only, quick, json }) {
  const known = [...Object.keys(PARTS), ...CONTENDERS]
  const unknown = (only ?? []).filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new Error(`--only knows ${known.join(', ')}, not ${unknown}`)
  const contenders = CONTENDERS.filter((name) => only === undefined || only.includes('write') || only.includes(name))
  console.log(versions('pg-copy-streams'))
  const done = []
  for (const [name, measure] of Object.entries(PARTS)) {
    const asked = name === 'write' ? contenders.length > 0 : only === undefined || only.includes(name)
    if (!asked) continue
    const part = await measure({ ...sizeOf(name, { pages, rounds, quick }), contenders })
    console.log(`\n${part.title}\n\n${table(part.head, part.rows)}`)
    done.push([name, part])
  }
  console.log('')
  const passed = printBars(done.flatMap(([, { bars }]) => bars))
  if (json)
    console.log(
      JSON.stringify({ bench: 'store', parts: Object.fromEntries(done.map(([name, { figures }]) => [name, figures])) }),
    )
  return passed
}

/** What `--pages` counts in each part. */
const COUNTED = { write: 'records', growth: 'rows', export: 'records', reparse: 'pages', retention: 'rows' }

function sizeOf(name, { pages, rounds, quick }) {
  const size = SIZES[quick ? 'quick' : 'full'][name]
  return { ...size, ...(pages === undefined ? {} : { [COUNTED[name]]: pages }), rounds: rounds ?? size.rounds }
}
