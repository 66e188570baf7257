import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { endAfterTest, redisForTest } from './redis-opened.js'
import { redisCommand, startRedis, until } from './redis-server.js'

test('A server keeps its data over a kill and a restart, on the same port', async () => {
  const server = await redisForTest({ aof: 'always' })
  await redisCommand(server.port, 'SET', 'k', 'v')
  const before = server.pid
  await server.restart()
  expect(server.pid).not.toBe(before)
  expect(await redisCommand(server.port, 'GET', 'k')).toBe('v')
  await server.stop()
  expect(existsSync(server.dir)).toBe(false)
})

test('A server that cannot start says why', async () => {
  await expect(startRedis({ args: ['--no-such-setting', '1'] })).rejects.toThrow(/Bad directive/)
})

test('A missing redis-server is said, with the way to get it', async () => {
  const path = process.env.PATH
  process.env.PATH = '/nonexistent'
  try {
    await expect(startRedis()).rejects.toThrow('redis-server is not installed; run scripts/set-up-servers.sh')
  } finally {
    process.env.PATH = path
  }
})

test('A server ends with the process that started it, even when that is killed', async () => {
  const file = fileURLToPath(new URL('redis-server.ts', import.meta.url))
  const main = `
    import { createJiti } from 'jiti'
    const { startRedis } = await createJiti(${JSON.stringify(import.meta.url)}).import(${JSON.stringify(file)})
    const server = await startRedis()
    console.log(JSON.stringify({ pid: server.pid, dir: server.dir }))
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', main], { stdio: ['ignore', 'pipe', 'inherit'] })
  endAfterTest({ stop: async () => void child.kill('SIGKILL') })
  const line = await new Promise<string>((resolve) =>
    child.stdout.once('data', (chunk: Buffer) => resolve(String(chunk))),
  )
  const { pid, dir } = JSON.parse(line) as { pid: number; dir: string }
  expect(existsSync(`/proc/${pid}`) || process.platform !== 'linux').toBe(true)
  child.kill('SIGKILL')
  await until('the server has ended', async () => !isAlive(pid) && !existsSync(dir))
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
