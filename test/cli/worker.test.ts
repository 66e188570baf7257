import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BIN } from '../support/cli.js'
import { startShoal } from './cli.js'

let dir: string

/** A spider file that takes a minute to load; the second file is there as soon as it begins. */
function slowSpider(name: string): { readonly file: string; readonly loading: string } {
  const file = join(dir, `${name}.mjs`)
  const loading = join(dir, `${name}.loading`)
  writeFileSync(
    file,
    `import { writeFileSync } from 'node:fs'
     writeFileSync(${JSON.stringify(loading)}, '')
     await new Promise((resolve) => setTimeout(resolve, 60_000))
     export default {}`,
  )
  return { file, loading }
}

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'shoal-worker-'))
})

afterAll(() => rmSync(dir, { recursive: true, force: true }))

describe('shoal worker', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'that gets %s while it starts ends with 0: an autoscaler changed its mind',
    async (signal) => {
      const { file, loading } = slowSpider(signal)
      const worker = startShoal(['worker', file, '--json'], { cwd: dir })
      await worker.until(async () => existsSync(loading))
      worker.kill(signal)
      const { code, out, err } = await worker.ended
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(JSON.parse(out)).toMatchObject({ spiders: [], endedBy: 'signal' })
    },
  )

  // `check` has no handler of its own; `unshare` needs root.
  it.runIf(process.getuid?.() === 0)('and any other command end by SIGTERM as PID 1 of a container', async () => {
    const { file, loading } = slowSpider('first')
    const outer = spawn('unshare', ['--pid', 'sh', '-c', '"$@" & wait $!', 'sh', process.execPath, BIN, 'check', file])
    const ended = once(outer, 'exit')
    while (!existsSync(loading) && outer.exitCode === null) await sleep(20)
    const [inside] = readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8').split(' ')
    process.kill(Number(inside), 'SIGTERM')
    const code = await Promise.race([ended.then(([value]) => value), sleep(5_000, 'still running')])
    if (outer.exitCode === null) process.kill(Number(inside), 'SIGKILL')
    expect(code).toBe(143)
  })
})
