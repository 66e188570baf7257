import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { specFor } from '../dist/coordinator/crawls.js'
import { spiderFromDefinition } from '../dist/spider/resolve.js'
import { createAdmitter } from '../dist/url/admit.js'
import { openBackends } from '../dist/wire/backends.js'

/** The frontier alone: prepared links, added a thousand at a time. Prints the seconds spent in `add`. */
const count = Number(process.argv[2])
const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
const address = `sqlite:${join(folder, 'q.db')}`
const backends = await openBackends({ queue: address, store: address })
const definition = {
  name: 'add',
  scope: { hosts: ['*'] },
  seeds: () => [],
  routes: { page: { match: '**' } },
  maxPending: 10 * count,
  // As in the spider of the benchmark: a delay changes the cost of adding links.
  pace: { delay: 0 },
}
const spider = spiderFromDefinition({ '~shoal': 'spider', definition })
await backends.frontier.open(specFor(spider, 'add', 1))
const admitter = createAdmitter(spider.admit)
let ms = 0
let added = 0
for (let at = 0; at < count; ) {
  const links = []
  for (const end = Math.min(count, at + 1_000); at < end; at++) {
    const { target } = admitter.resolve(`https://shop-${at % 1000}.example/catalogue/department/product-${at}`, '')
    links.push(admitter.link(target, 0))
  }
  const begun = performance.now()
  added += (await backends.frontier.add('add', links)).added
  ms += performance.now() - begun
}
await backends.close()
rmSync(folder, { recursive: true, force: true })
if (added !== count) throw new Error(`${added} of ${count} were added`)
console.log(JSON.stringify({ seconds: ms / 1000 }))
