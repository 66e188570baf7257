import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { browsersUnder } from './support.js'

const CHILD = fileURLToPath(new URL('./render-for-ever.ts', import.meta.url))
const JITI = fileURLToPath(new URL('../../../node_modules/jiti/lib/jiti-cli.mjs', import.meta.url))

const alive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

it('leaves no browser behind when its process is killed', async () => {
  const child = spawn(process.execPath, [JITI, CHILD], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    await new Promise<void>((resolve) => child.stdout.once('data', () => resolve()))
    const browsers = browsersUnder(child.pid)
    expect(browsers.length).toBeGreaterThan(2)
    child.kill('SIGKILL')
    await expect.poll(() => browsers.filter(alive), { timeout: 15_000 }).toEqual([])
  } finally {
    child.kill('SIGKILL')
  }
}, 60_000)
