import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { KINDS } from '../../src/proxy/pool-schema.js'
import { loadPools } from '../../src/proxy/pools.js'
import { lastJson, runCli, tempDir } from '../support/cli.js'
import { freePort } from '../support/server-process.js'

const TEXT = readFileSync(new URL('../../docs/proxies.md', import.meta.url), 'utf8')
const dir = tempDir('proxy-docs')
const cleanups: (() => unknown)[] = [() => dir.remove()]
afterAll(async () => {
  for (const clean of cleanups.reverse()) await clean()
})

function block(name: string): string {
  return new RegExp(`^\`\`\`\\w+ ${name}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(TEXT)?.[1] ?? ''
}

it('the file of pools is one', () => {
  const path = join(dir.path, 'pools.json')
  writeFileSync(path, block('pools'))
  const pools = loadPools(path, { DC_PASSWORD: 'a', HOME_PASSWORD: 'b', API_KEY: 'c' })
  expect(pools.map(({ name, proxies }) => `${name} ${proxies.length}`)).toEqual(['dc 3', 'home 200', 'api 20'])
})

it('the table of kinds is the one in the code', () => {
  const minutes = (ms: number) => (ms < 3_600_000 ? `${ms / 60_000} min` : `${ms / 3_600_000} h`)
  for (const [kind, { rest, rotation }] of Object.entries(KINDS)) {
    const row = TEXT.split('\n').find((line) => line.startsWith(`| \`${kind}\``)) ?? ''
    const cells = row.split('|').map((cell) => cell.trim())
    expect(cells.slice(2, 5)).toEqual([
      minutes(rest.baseMs),
      minutes(rest.capMs),
      `${rotation.requests} requests or ${minutes(rotation.timeMs)}`,
    ])
  }
})

it('the example runs', async () => {
  const site = createServer((_request, answer) => answer.end('<title>hello</title>')).listen(0, '127.0.0.1')
  await once(site, 'listening')
  cleanups.push(
    () => site.close(),
    () => site.closeAllConnections(),
  )
  const { port } = site.address() as AddressInfo
  const ports = await Promise.all([freePort(), freePort(), freePort()])
  const local = (text: string) => ports.reduce((sum, free, index) => sum.replaceAll(`810${index + 1}`, `${free}`), text)
  writeFileSync(join(dir.path, 'proxies.mjs'), local(block('proxies.mjs')))
  writeFileSync(join(dir.path, 'proxies.txt'), local(block('proxies.txt')))
  const proxies = spawn(process.execPath, ['proxies.mjs'], { cwd: dir.path, stdio: 'ignore' })
  cleanups.push(() => proxies.kill())
  const cli = { cwd: dir.path }
  const url = ['--url', `http://127.0.0.1:${port}/`, '--allow-private', `127.0.0.1:${port}`]
  const test = () => runCli(['proxies', 'test', 'default', '--proxies', 'proxies.txt', '--wake', '--json', ...url], cli)
  // They need a moment to listen.
  let tested = await test()
  for (let tries = 0; tries < 20 && lastJson(tested.stdout).good !== 3; tries++) tested = await test()
  expect(tested.code).toBe(0)
  const listed = await runCli(['proxies', 'list', '--proxies', 'proxies.txt'], cli)
  expect(listed.stdout).toContain('3 proxies')
  expect(listed.stdout).toContain(`127.0.0.1:${ports[0]}`)
})
