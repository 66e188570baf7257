import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { launchShop } from '../../src/demo/launch.js'
import { SHOP_DEFAULTS } from '../../src/demo/shop.js'
import { checkPoliteness, readAccessLog } from '../support/access-log.js'
import { lastJson, startCli, tempDir } from '../support/cli.js'

const DELAY_MS = 100
const VISIBILITY_MS = 2_000
const dir = tempDir('polite')
afterAll(() => dir.remove())

/** The demo's own spider, slower and with a short lease, as a user would write it. */
function spider(origin: string): string {
  const { host } = new URL(origin)
  return `import { defineSpider } from 'shoal'
export default defineSpider({
  name: 'polite',
  start: ['${origin}/'],
  scope: { hosts: ['${host}'], deny: ['/events/*'] },
  allowPrivate: ['${host}'],
  pace: { delay: '${DELAY_MS}ms', concurrency: 1 },
  lease: { visibility: '${VISIBILITY_MS}ms', heartbeat: '500ms' },
  retries: { max: 3, backoff: ['200ms'] },
  routes: { page: { match: '**', follow: [{ links: 'a' }] } },
})
`
}

describe('politeness, judged by the log of the site', () => {
  it('holds over two processes, a kill -9 of one and a freeze of the other past its lease', async () => {
    const options = { ...SHOP_DEFAULTS, pages: 90, bytes: 2_000 }
    const shop = await launchShop({ dir: dir.path, options })
    const started: number[] = []
    try {
      const file = join(dir.path, 'polite.ts')
      writeFileSync(file, spider(shop.origin))
      const queue = `sqlite:${join(dir.path, 'shoal.db')}`
      const { child, result } = startCli(['run', file, '--workers', '2', '--queue', queue, '--json'])
      started.push(child.pid ?? 0)
      const requests = (count: number) =>
        expect.poll(() => readAccessLog(shop.accessLog).length, { timeout: 60_000 }).toBeGreaterThanOrEqual(count)
      await requests(20)
      const [first, second] = childrenOf(child.pid ?? 0)
      if (first === undefined || second === undefined) throw new Error('the two worker processes are not there')
      started.push(second)
      process.kill(first, 'SIGKILL')
      await requests(40)
      process.kill(second, 'SIGSTOP')
      await sleep(3 * VISIBILITY_MS)
      process.kill(second, 'SIGCONT')
      const { code, stdout, stderr } = await result
      started.length = 0
      expect({ code, stderr }).toMatchObject({ code: 0 })
      expect(lastJson(stdout)).toMatchObject({ state: 'finished' })

      const entries = readAccessLog(shop.accessLog)
      const check = checkPoliteness(entries, { delayMs: DELAY_MS, concurrency: 1 })
      expect(check.violations).toEqual([])
      expect(check.maxConcurrent).toBe(1)
      expect(check.minGapMs).toBeGreaterThanOrEqual(0.9 * DELAY_MS)
      // robots.txt and redirects are among them.
      expect(entries.some((entry) => entry.path === '/robots.txt')).toBe(true)
      expect(entries.some((entry) => entry.status === 301 || entry.status === 302)).toBe(true)
    } finally {
      // Also one that is frozen, and would never hear that its parent is gone.
      for (const pid of started) endIfThere(pid)
      await shop.close()
    }
  }, 90_000)
})

function endIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}

function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
