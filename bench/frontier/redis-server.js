import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Redis from 'ioredis'
import { freePort } from '../free-port.js'

/** Only scripts that took longer than this are reported. */
const SLOW_US = 2_000
const SCRIPT_CALLS = ['eval', 'evalsha', 'fcall']

/** A private redis-server with default settings, on loopback, removed by `close`. */
export async function startRedis({ appendonly = false, cluster = false } = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'shoal-bench-redis-'))
  const port = await freePort()
  const settings = { port, bind: '127.0.0.1', dir, save: '', appendonly: appendonly ? 'yes' : 'no' }
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  // By default the bus is 10,000 above, where there may be no port.
  const busPort = cluster ? await freePort() : null
  if (busPort !== null) flags.push('--cluster-enabled', 'yes', '--cluster-port', String(busPort))
  flags.push('--slowlog-log-slower-than', String(SLOW_US), '--slowlog-max-len', '10000')
  const child = spawn('redis-server', flags, { stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const clear = () => {
    child.kill('SIGKILL')
    rmSync(dir, { recursive: true, force: true })
  }
  process.once('exit', clear)
  const failed = new Promise((_, reject) =>
    child.once('error', () => reject(new Error('redis-server is not installed; `apt-get install redis-server`'))),
  )
  const control = new Redis(port, '127.0.0.1', { retryStrategy: () => 20, maxRetriesPerRequest: null })
  control.on('error', () => {})
  await Promise.race([control.ping(), failed])

  let longestUs = 0
  /** The longest script since the start, in milliseconds; 0 if none was slow. */
  const longestScriptMs = async () => {
    for (const [, , us, [name]] of await control.slowlog('GET', -1))
      if (SCRIPT_CALLS.includes(name.toLowerCase())) longestUs = Math.max(longestUs, us)
    await control.slowlog('RESET')
    return longestUs / 1_000
  }
  const info = async () => parseInfo(await control.info('all'))
  return {
    port,
    busPort,
    url: `redis://127.0.0.1:${port}`,
    control,
    version: async () => (await info()).redis_version,
    /** Microseconds of CPU of the server, all its threads and children. */
    async cpuUs() {
      const all = await info()
      const names = ['used_cpu_user', 'used_cpu_sys', 'used_cpu_user_children', 'used_cpu_sys_children']
      return names.reduce((sum, name) => sum + Number(all[name]), 0) * 1e6
    },
    /** Microseconds inside scripts so far, as reported by the server. */
    async scriptUs() {
      const stats = parseInfo(await control.info('commandstats'))
      return SCRIPT_CALLS.reduce((sum, name) => sum + usecOf(stats[`cmdstat_${name}`]), 0)
    },
    /** Without the slow log, whose entries contain arguments of the calls. */
    async memory() {
      await longestScriptMs()
      return Number((await info()).used_memory)
    },
    /** Waits until everything with a short time to live has expired. */
    async expireNow() {
      for (let cursor = '0', first = true; first || cursor !== '0'; first = false) {
        const [next, keys] = await control.scan(cursor, 'COUNT', 1_000)
        cursor = next
        const ttls = await Promise.all(keys.map((key) => control.pttl(key)))
        await Promise.all(keys.filter((_, nth) => ttls[nth] > 0).map((key) => control.pexpire(key, 1)))
      }
      await sleep(1_000)
    },
    longestScriptMs,
    async close() {
      control.disconnect()
      child.kill('SIGKILL')
      await ended
      process.off('exit', clear)
      clear()
    },
  }
}

function parseInfo(text) {
  return Object.fromEntries(
    text.split('\r\n').map((line) => [line.split(':', 1)[0], line.slice(line.indexOf(':') + 1)]),
  )
}

function usecOf(stat) {
  return stat === undefined ? 0 : Number(/usec=(\d+)/.exec(stat)[1])
}
