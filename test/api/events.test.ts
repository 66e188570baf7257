import type { ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createEventHub } from '../../src/api/events.js'
import { memo } from '../../src/api/memo.js'
import type { Snapshots } from '../../src/api/snapshots.js'
import { ManualClock } from '../../src/clock.js'
import { ShoalError } from '../../src/errors.js'
import { silentLog } from '../../src/log.js'

/** A response that keeps what is written to it; `reads: false`: the other end takes nothing. */
function response({ reads = true } = {}) {
  const stream = new PassThrough({ highWaterMark: 1 })
  const seen: Buffer[] = []
  if (reads) stream.on('data', (chunk: Buffer) => seen.push(chunk))
  const written: Buffer[] = []
  const write = stream.write.bind(stream)
  stream.write = ((chunk: Buffer) => {
    written.push(chunk)
    return write(chunk)
  }) as typeof stream.write
  // A socket that is not read from: what was written stays here.
  if (!reads) Object.defineProperty(stream, 'writableLength', { get: () => (written.length > 1 ? 1_000 : 0) })
  return {
    response: Object.assign(stream, { writeHead: () => stream }) as unknown as ServerResponse,
    text: () => Buffer.concat(seen).toString(),
    written,
    stream,
  }
}

function hubWith(look: Partial<Record<'overview' | 'crawl', () => Promise<unknown>>>) {
  const clock = new ManualClock()
  const asked = { overview: 0, crawl: 0 }
  const snapshots = {
    overview: () => {
      asked.overview += 1
      return (look.overview ?? (async () => ({ n: asked.overview })))()
    },
    crawl: (id: string) => {
      asked.crawl += 1
      return (look.crawl ?? (async () => ({ id })))()
    },
  } as unknown as Snapshots
  const hub = createEventHub({ snapshots, clock, log: silentLog })
  /** Enough turns of the event loop for what is under way, then the time that passes. */
  const pass = async (ms: number) => {
    for (let i = 0; i < 20; i += 1) await new Promise(setImmediate)
    clock.advance(ms)
    for (let i = 0; i < 20; i += 1) await new Promise(setImmediate)
  }
  return { hub, clock, asked, pass }
}

describe('server-sent events', () => {
  it('one look a second for all, and none while nobody listens', async () => {
    const { hub, asked, pass } = hubWith({})
    await pass(10_000)
    expect(asked.overview).toBe(0)
    const clients = Array.from({ length: 200 }, () => response())
    for (const client of clients) hub.join(client.response, null)
    await pass(0)
    for (let i = 0; i < 3; i += 1) await pass(1_000)
    expect(asked.overview).toBe(4)
    expect(clients.every((client) => client.text() === clients[0]?.text())).toBe(true)
    expect(clients[0]?.text()).toContain('event: overview\ndata: {"n":4}\n\n')
    // The very same bytes for everybody.
    expect(new Set(clients.map(({ written }) => written.at(-1))).size).toBe(1)
    for (const client of clients) client.stream.destroy()
    await pass(1_000)
    const before = asked.overview
    await pass(5_000)
    expect(asked.overview).toBe(before)
    expect(hub.listeners).toBe(0)
  })

  it('a crawl is looked at once, however many watch it', async () => {
    const { hub, asked, pass } = hubWith({})
    const clients = Array.from({ length: 5 }, () => response())
    for (const client of clients) hub.join(client.response, 'shop-1')
    const other = response()
    hub.join(other.response, null)
    await pass(1_000)
    expect(asked.crawl).toBe(asked.overview)
    expect(clients[4]?.text()).toContain('event: crawl\ndata: {"id":"shop-1"}\n\n')
    expect(other.text()).not.toContain('event: crawl')
    hub.close()
  })

  it('who does not read gets nothing put aside, and is dropped', async () => {
    const { hub, pass } = hubWith({})
    const silent = response({ reads: false })
    const reader = response()
    hub.join(silent.response, null)
    hub.join(reader.response, null)
    await pass(0)
    for (let i = 0; i < 20; i += 1) await pass(1_000)
    // The greeting and one event, whatever time has passed.
    expect(silent.written).toHaveLength(2)
    expect(hub.listeners).toBe(2)
    for (let i = 0; i < 15; i += 1) await pass(1_000)
    expect(silent.stream.destroyed).toBe(true)
    expect(hub.listeners).toBe(1)
    expect(reader.stream.destroyed).toBe(false)
    hub.close()
  })

  it('tells of a queue that is away, and goes on', async () => {
    let away = true
    const overview = async () => {
      if (away) throw new ShoalError('queue_down', 'Redis is away')
      return { back: true }
    }
    const { hub, pass } = hubWith({ overview })
    const client = response()
    hub.join(client.response, null)
    await pass(1_000)
    expect(client.text()).toContain('event: problem\ndata: {"error":{"code":"queue_down"')
    away = false
    await pass(1_000)
    expect(client.text()).toContain('{"back":true}')
    hub.close()
  })

  it('a look that takes long keeps the connection with a comment', async () => {
    const { hub, pass } = hubWith({ overview: () => new Promise(() => {}) })
    const client = response()
    hub.join(client.response, null)
    await pass(5_000)
    expect(client.text()).toContain('\n: still looking\n\n')
    hub.close()
  })

  it('takes 500 listeners and 20 crawls, and ends with the server', async () => {
    const { hub } = hubWith({})
    for (let i = 0; i < 20; i += 1) hub.join(response().response, `crawl-${i}`)
    expect(() => hub.join(response().response, 'one-more')).toThrow(/20 crawls/)
    const clients = Array.from({ length: 480 }, () => response())
    for (const client of clients) hub.join(client.response, null)
    expect(() => hub.join(response().response, null)).toThrow(/500 listeners/)
    hub.close()
    expect(clients.every(({ stream }) => stream.writableEnded)).toBe(true)
  })

  it('says at last how things are, by a look of its own, and that this is the end', async () => {
    const { hub, pass } = hubWith({})
    const clients = [response(), response()]
    hub.join(clients[0]?.response as ServerResponse, null)
    hub.join(clients[1]?.response as ServerResponse, 'shop-1')
    await pass(0)
    const last = { overview: async () => ({ last: true }), crawl: async () => ({ state: 'finished' }) }
    await hub.sayBye(last as unknown as Snapshots)
    expect(clients[0]?.text()).toMatch(/event: overview\ndata: \{"last":true\}\n\nevent: bye\ndata: \{\}\n\n$/)
    expect(clients[1]?.text()).toMatch(/event: crawl\ndata: \{"state":"finished"\}\n\nevent: bye\ndata: \{\}\n\n$/)
    expect(clients.every(({ stream }) => stream.writableEnded)).toBe(true)
  })

  it('waits a second at most for the last look and for who does not read', async () => {
    const { hub, pass } = hubWith({})
    hub.join(response({ reads: false }).response, null)
    await pass(0)
    let said = false
    void hub.sayBye({ overview: () => new Promise(() => {}) } as unknown as Snapshots).then(() => {
      said = true
    })
    await pass(1_000)
    await pass(1_000)
    expect(said).toBe(true)
  })
})

describe('answers that callers share', () => {
  it('one question at a time, fresh for a while, failures not kept', async () => {
    const clock = new ManualClock()
    let asked = 0
    let finish: (value: number) => void = () => {}
    const ask = memo(clock, 1_000, () => {
      asked += 1
      return asked === 3
        ? Promise.reject(new Error('no'))
        : new Promise<number>((resolve) => {
            finish = resolve
          })
    })
    const both = [ask('a'), ask('a')]
    clock.advance(60_000)
    const late = ask('a')
    finish(1)
    expect(await Promise.all([...both, late])).toEqual([1, 1, 1])
    expect(asked).toBe(1)
    clock.advance(1_000)
    const second = ask('a')
    finish(2)
    expect([await second, await ask('a'), asked]).toEqual([2, 2, 2])
    clock.advance(1_000)
    await expect(ask('a')).rejects.toThrow('no')
    const again = ask('a')
    finish(4)
    expect([await again, asked]).toEqual([4, 4])
  })
})
