import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.js'
import { isMuchLeft, reparse } from '../../../src/run/reparse/reparse.js'
import { startReparseThread } from '../../../src/run/reparse/start-reparse-thread.js'
import { openResults, type StorePart } from '../../../src/wire/backends.js'
import { batch, fetchRow, record } from '../../contract/record-store-contract.js'
import { tempDir } from '../../support/cli.js'

const dir = tempDir('reparse-localWorkers')
let results: StorePart
beforeAll(async () => {
  results = await openResults({ store: `sqlite:${join(dir.path, 'shoal.db')}` })
})
afterAll(async () => {
  await results.close()
  dir.remove()
})

const source = (handler: string) => {
  const path = join(dir.path, `books-${handler.length}.ts`)
  writeFileSync(
    path,
    `import { defineSpider } from 'shoal'
     export default defineSpider({
       name: 'books', start: ['https://books.example/'], handlerTimeout: '100ms', records: { book: {} },
       routes: { book: { match: '/**', handler(page, out) { ${handler}; out.record('book', page.url, { text: page.text }) } } },
     })`,
  )
  return { kind: 'file', path } as const
}

async function keep(count: number): Promise<void> {
  const page = await results.pages.put(Buffer.from('<h1>Tome</h1>'), 'text/html')
  const fetches = Array.from({ length: count }, (_, n) =>
    fetchRow({ fp: n.toString(16).padStart(16, '0'), url: `https://books.example/${n}`, page, headers: {} }),
  )
  await results.store.records.write(batch({ fetches }))
}

const options = { dryRun: false, workers: 2, logLevel: 'error', writeLog: () => {} } as const

it('goes on without the pages whose handlers end their thread or never end', async () => {
  await keep(200)
  // A handler that never ends is given five seconds beyond its deadline; here nobody waits that long.
  const stuck = startReparseThread({
    ...{ results, clock: systemClock, startedAt: systemClock.now(), slackMs: 200, onStray: () => {}, ...options },
    isFirst: true,
    ...{ source: source(`if (page.url.endsWith('/1')) for (;;) {}`), drain: new AbortController().signal },
  })
  const { pages } = await results.store.pages.part({ spider: 'books', newestOnly: true }, null, 3)
  const end = await stuck.reparse({ id: 7, pages })
  expect(end).toMatchObject({ kind: 'died', code: 'handler_timeout', page: 1, blamed: true })
  await stuck.close()

  const { report, interrupted } = await reparse({
    ...options,
    results,
    source: source(`if (/[/](10|80|81)$/.test(page.url)) process.exit(3)`),
    drain: new AbortController().signal,
  })
  expect(interrupted).toBe(false)
  expect(report).toMatchObject({ pages: 200, failed: 3 })
  // A thread may die of one page when those of its other job are written already.
  const { written = 0, unchanged = 0 } = report.kinds.get('book') ?? {}
  expect(written + unchanged).toBe(197)
  expect([...report.failures.values()]).toEqual([
    { code: 'poison', message: 'it ended its thread with code 3', count: 3, url: expect.stringMatching(/10|80|81/) },
  ])
})

it('ends with the failure of a thread: a spider that is broken, a store that is gone', async () => {
  const broken = { ...options, results, drain: new AbortController().signal }
  await expect(reparse({ ...broken, source: source('this is no code') })).rejects.toMatchObject({
    code: 'spider_syntax',
  })
  // It loads here and in no other thread.
  const once = source(`void 0`)
  writeFileSync(
    once.path,
    `import { isMainThread } from 'node:worker_threads'; if (!isMainThread) throw new Error('not here')
    import { defineSpider } from 'shoal'
    export default defineSpider({ name: 'books', start: ['https://books.example/'], routes: { book: { match: '/**' } } })`,
  )
  await expect(reparse({ ...broken, source: once })).rejects.toMatchObject({
    message: expect.stringContaining('not here'),
  })
})

it('calls for more threads only when the first is warm and much is left', () => {
  expect(isMuchLeft(20_000, null, 4)).toBe(false)
  expect(isMuchLeft(5_000, 1_000_000, 1)).toBe(false)
  expect(isMuchLeft(20_000, 40_000, 4)).toBe(false)
  expect(isMuchLeft(20_000, 400_000, 4)).toBe(true)
  // Slow handlers: a thousand pages may be much.
  expect(isMuchLeft(40, 1_000, 4)).toBe(true)
  expect(isMuchLeft(0, 1_000, 4)).toBe(true)
})

it('hears a drain before it begins, and writes nothing then', async () => {
  await results.store.records.write(batch({ records: [record()] }))
  const drain = AbortSignal.abort()
  const stopped = reparse({ ...options, results, source: source(''), drain })
  await expect(stopped).rejects.toMatchObject({ code: 'interrupted' })
})
