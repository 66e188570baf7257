import { readFileSync, writeFileSync } from 'node:fs'
import { crawlOn } from './bench.js'
import { ALL_AT_ONCE, BOMBS } from './bombs.js'

/** A worker in a process of its own; the site is in another, so that what it sends costs nothing here. Argument: the port of the site. */
const port = Number(process.argv[2])
const origin = `http://127.0.0.1:${port}`
const definition = { routes: { page: { match: '**', record: { kind: 'thing', fields: { title: 'h1' } } } } } as const
/** The highest since it was forgotten last: to load and compile this program takes more than any bomb. */
const peakMb = () => Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) / 1024
const forgetPeak = () => writeFileSync('/proc/self/clear_refs', '5')

for (let i = 0; i < 3; i++) await crawlOn(port, `${origin}/gzip-large`, { definition })
await new Promise((resolve) => setTimeout(resolve, 200))
forgetPeak()
const idleMb = process.memoryUsage.rss() / 2 ** 20

const outcomes: string[] = []
for (const path of BOMBS) outcomes.push((await crawlOn(port, origin + path, { definition })).outcome)
const alone = peakMb() - idleMb
forgetPeak()
const start = BOMBS.map((path) => `${origin}${path}?again`)
const { links } = await crawlOn(port, '', {
  definition: { ...definition, start, pace: { delay: 0, concurrency: ALL_AT_ONCE } },
})
console.log(JSON.stringify({ idleMb, alone, together: peakMb() - idleMb, outcomes, ended: links.length }))
