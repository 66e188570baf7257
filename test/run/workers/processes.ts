import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig } from '../../../src/config.js'
import type { WorkerProcessOrder } from '../../../src/run/workers/worker-process-messages.js'

/** A spider file whose loading is noted, with the process it happened in; `first` runs at the first load alone. */
export function notedSpider(dir: string, first = '') {
  const path = join(dir, 'spider.mjs')
  const notes = join(dir, 'loaded')
  writeFileSync(
    path,
    `import { defineSpider } from 'shoal'
     import { appendFileSync, existsSync } from 'node:fs'
     import { execFileSync } from 'node:child_process'
     const isFirst = !existsSync(${JSON.stringify(notes)})
     appendFileSync(${JSON.stringify(notes)}, process.pid + '\\n')
     if (isFirst) { ${first} }
     export default defineSpider({ name: 'idle', start: ['http://127.0.0.1:9/'], routes: { page: { match: '/**' } } })`,
  )
  return {
    path,
    /** Of the processes that loaded it, in turn. */
    pids: (): number[] =>
      existsSync(notes) ? readFileSync(notes, 'utf8').trimEnd().split('\n').filter(Boolean).map(Number) : [],
  }
}

export function orderOf(dir: string, spider: string): WorkerProcessOrder {
  const database = `sqlite:${join(dir, 'shoal.db')}`
  return {
    settings: loadConfig({ flags: { queue: database, concurrency: 1, logLevel: 'silent', grace: '500ms' }, env: {} }),
    sources: [{ kind: 'file', path: spider }],
    stuckMs: 20_000,
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
