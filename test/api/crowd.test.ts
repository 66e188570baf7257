import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { Strangers } from '../../src/api/connections.js'
import { serveMetrics } from '../../src/run/metrics-server.js'
import { served } from './served.js'

const IDLE = 1_000
const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

/** Connections of one address that never send a whole request: half say nothing, half send a header every now and then. */
async function crowd(port: number, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const socket = connect(port, '127.0.0.1')
    // Closed by the server, which is the point.
    socket.on('error', () => {})
    sockets.push(socket)
    await Promise.race([once(socket, 'connect'), once(socket, 'close')])
    if (i % 2 === 0) socket.write('GET /healthz HTTP/1.1\r\nx-slow: ')
  }
}

async function timed<Result>(work: () => Promise<Result>): Promise<{ answer: Result; ms: number }> {
  const began = performance.now()
  const answer = await work()
  return { answer, ms: performance.now() - began }
}

describe('a crowd of connections without a token', () => {
  const site = served('sqlite')

  it('shuts out neither the dashboard nor a probe, and does not stay', async () => {
    await site.call('/healthz')
    await crowd(site.dashboard.port, IDLE)
    const paths = ['/', '/healthz', '/readyz', '/metrics', '/api/overview']
    for (const path of paths) {
      const { answer, ms } = await timed(() => site.call(path))
      expect([path, answer.status]).toEqual([path, path === '/' ? expect.any(Number) : 200])
      expect(ms).toBeLessThan(1_000)
    }
    expect(sockets.filter(({ destroyed, readyState }) => !destroyed && readyState === 'open').length).toBeLessThan(400)
  })

  it('does not close the connection of someone who has sent the token', async () => {
    const { port, token } = site.dashboard
    const owner = connect(port, '127.0.0.1')
    let heard = ''
    owner.setEncoding('utf8').on('data', (text: string) => {
      heard += text
    })
    owner.write(`GET /api/events HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nauthorization: Bearer ${token}\r\n\r\n`)
    await once(owner, 'data')
    await crowd(port, IDLE)
    heard = ''
    await once(owner, 'data')
    expect(owner.destroyed).toBe(false)
    expect(heard).toContain('event: overview')
    owner.destroy()
  })

  it('leaves the probes of --metrics alone', async () => {
    const reply = async () => ({ status: 200 as const, body: { ok: true } })
    const monitor = { healthReply: reply, readyReply: reply, metricsText: async () => '' }
    const server = await serveMetrics({ address: { host: '127.0.0.1', port: 0 }, token: null }, monitor as never)
    await crowd(Number(new URL(server.url).port), 200)
    const { answer, ms } = await timed(() => fetch(`${server.url}/healthz`))
    expect(answer.status).toBe(200)
    expect(ms).toBeLessThan(1_000)
    await server.close()
  })
})

describe('room for another connection', () => {
  it('is made by the oldest of the address that has the most', () => {
    const strangers = new Strangers<string>(4)
    for (const name of ['a1', 'a2', 'a3']) expect(strangers.add(name, 'a')).toBeNull()
    expect(strangers.add('b1', 'b')).toBeNull()
    expect(strangers.add('b2', 'b')).toBe('a1')
    // Two each: the first of them that came.
    expect(strangers.add('c1', 'c')).toBe('a2')
    expect(strangers.add('c2', 'c')).toBe('b1')
  })

  it('is there again when one has left or has sent the token', () => {
    const strangers = new Strangers<string>(2)
    strangers.add('a1', 'a')
    strangers.add('a2', 'a')
    strangers.delete('a1')
    expect(strangers.add('a3', 'a')).toBeNull()
    expect(strangers.add('a4', 'a')).toBe('a2')
  })
})
