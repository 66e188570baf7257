import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type Operation, scriptOf } from '../../../src/frontier/redis/scripts.js'
import { openForTest, redisForTest } from '../../support/redis-opened.js'

const SRC = new URL('../../../src/', import.meta.url)
const OPERATIONS = readdirSync(new URL('frontier/redis/lua', SRC))
  .filter((file) => file.endsWith('.lua'))
  .map((file) => file.replace('.lua', '') as Operation)

/** Scripts are slimmed when they are loaded (src/redis/slim-script.ts). */
describe('the scripts of the queue', () => {
  it('compile, and Redis computes the same hash', async () => {
    const server = await redisForTest()
    const redis = await openForTest(server.url)
    for (const operation of OPERATIONS) {
      const { source, sha } = scriptOf(operation)
      expect(String(await redis.command(null, ['SCRIPT', 'LOAD', source])), operation).toBe(sha)
    }
  })

  it('say in which file and line they failed', async () => {
    const server = await redisForTest()
    const redis = await openForTest(server.url)
    const script = scriptOf('lease')
    const lines = script.source.split('\n')
    const broken = lines.findIndex((line) => line.startsWith('local wkey'))
    const source = lines.map((line, nth) => (nth === broken ? 'local wkey = worker.no.such' : line)).join('\n')
    const failing = { ...script, source, sha: createHash('sha1').update(source).digest('hex') }
    const failure = await redis.run(failing, ['{q}'], ['', 'w', '1', '1', '', '0']).catch((error: Error) => error)
    const [, file = '', line] = /\((\S+\.lua):(\d+)\)$/.exec(String(failure)) ?? []
    expect(file).toBe('frontier/redis/lua/lease.lua')
    const text = readFileSync(new URL(file, SRC), 'utf8').split('\n')[Number(line) - 1]
    expect(text).toMatch(/^local wkey/)
  })

  it('hold no function that their operation does not use', () => {
    expect(scriptOf('keep').source).not.toContain('function wake_crawl')
    expect(scriptOf('lease').source).not.toContain('function fingerprint_of')
  })
})
