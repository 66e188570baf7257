import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.js'
import { createHttpFetcher } from '../../src/fetch/http/http-fetcher.js'
import { pauseAfter } from '../../src/outlets/backoff.js'
import { postWebhook } from '../../src/outlets/post-webhook.js'
import type { Sent } from '../../src/outlets/sink.js'
import { type BadServer, startBadServer } from '../support/bad-server.js'
import { answer, MODES } from '../support/misbehaviours.js'
import { EXPIRED, KEY } from '../support/test-only-certificates.js'

const SECRET = 'canary-secret-1b7e'
const HOOK = '/services/T0123/canary-path-93fe?token=canary-token-44d0'

const refusal = (body: string, status = '404 Not Found') => answer(body, { Connection: 'close' }, status)

let receiver: BadServer
/** Counts whoever follows a redirect to it. */
let elsewhere: BadServer
const fetcher = createHttpFetcher({ clock: systemClock })
beforeAll(async () => {
  elsewhere = await startBadServer({ otherwise: (socket) => void socket.write(answer('got you')) })
  receiver = await startBadServer({
    otherwise: (socket, path) => {
      if (path === HOOK) socket.end(refusal(`Cannot POST ${path} canary-token-44d0 ${SECRET} \u001b[31mred`))
      else if (path.startsWith('/to/'))
        socket.write(answer('', { Location: decodeURIComponent(path.slice(4)) }, '307 Temporary Redirect'))
      else if (path === '/busy-forever') {
        socket.write('HTTP/1.1 503 Busy\r\nRetry-After: 7\r\n\r\n')
        MODES['/endless-until-close']?.(socket, '')
      } else if (path === '/twice') socket.write(Buffer.concat([answer('late'), answer('yours')]))
      else if (path === '/busy-for-ages')
        socket.write(answer('', { 'Retry-After': '999999999999999' }, '429 Too Many Requests'))
      else if (path === '/refuses-slowly') socket.write('HTTP/1.1 410 Gone\r\nContent-Length: 1000\r\n\r\nno such hook')
    },
  })
})
afterAll(async () => {
  await fetcher.close()
  await receiver.close()
  await elsewhere.close()
})

interface PostOptions {
  readonly timeoutMs?: number
  readonly body?: string
  readonly signal?: AbortSignal
}

const post = (
  url: string,
  { timeoutMs = 3_000, body = '{}', signal = new AbortController().signal }: PostOptions = {},
): Promise<Sent> =>
  postWebhook(
    { url, headers: {}, timeoutMs, allowPrivate: ['127.0.0.1:*'], id: 'one', body, secret: SECRET },
    { fetcher, clock: systemClock },
    signal,
  )
const postTo = (path: string, options?: PostOptions) => post(`${receiver.origin}${path}`, options)

describe('a receiver that misbehaves', () => {
  it('has taken the batch when it said so, whatever happens to the rest of its response', async () => {
    for (const path of [
      ...['/stall-body', '/drip-body', '/endless-chunks', '/endless-until-close', '/ten-terabytes'],
      ...['/length-too-large', '/length-too-small', '/chunks-cut', '/reset-mid-body', '/reset-mid-chunks'],
      ...['/gzip-bomb', '/gzip-broken', '/gzip-plain', '/br-cut', '/encoding-unknown', '/encodings-200'],
    ]) {
      const from = systemClock.mono()
      expect(await postTo(path), path).toEqual({ kind: 'taken', trimmed: 0 })
      expect(systemClock.mono() - from, path).toBeLessThan(2_500)
    }
  })

  it('is asked again when it says nothing that can be believed', async () => {
    for (const path of [
      ...['/silent', '/drip-headers', '/headers-cut', '/fin-before-headers', '/reset-before-headers', '/1xx-flood'],
      ...['/20000-headers', '/megabyte-header', '/endless-headers', '/http-0.9', '/garbage', '/bad-status', '/101'],
    ]) {
      const from = systemClock.mono()
      expect(await postTo(path, { timeoutMs: 500 }), path).toMatchObject({ kind: 'down' })
      expect(systemClock.mono() - from, path).toBeLessThan(2_500)
    }
  })

  it('is judged by its status, not by how much it writes', async () => {
    expect(await postTo('/busy-forever')).toEqual({ kind: 'down', message: 'it answers 503', retryAfterMs: 7_000 })
    expect(await postTo('/refuses-slowly')).toEqual({ kind: 'refused', message: 'it answers 410: no such hook' })
  })

  it('is not believed when two responses come: the first may be a late one to an earlier batch', async () => {
    expect(await postTo('/ok')).toMatchObject({ kind: 'taken' })
    expect(await postTo('/twice')).toMatchObject({
      kind: 'down',
      message: expect.stringContaining('two responses to one request'),
    })
  })

  it('does not hold up the end of a run', async () => {
    for (const path of ['/silent', '/drip-headers', '/drip-body']) {
      const stop = new AbortController()
      const from = systemClock.mono()
      systemClock.after(100, () => stop.abort())
      await postTo(path, { timeoutMs: 60_000, signal: stop.signal })
      expect(systemClock.mono() - from, path).toBeLessThan(1_000)
    }
  })

  it('leads nobody elsewhere: neither the batch nor its signature follows a redirect', async () => {
    for (const target of [
      elsewhere.origin,
      `${elsewhere.origin}/x`,
      'http://169.254.169.254/',
      '/to/again',
      'file:///',
    ])
      expect(await postTo(`/to/${encodeURIComponent(target)}`), target).toMatchObject({ kind: 'refused' })
    expect(elsewhere.connections()).toBe(0)
  })

  it('cannot make a message show the secret or the address, which often is one', async () => {
    const sent = await postTo(HOOK)
    expect(sent).toMatchObject({ kind: 'refused', message: expect.stringContaining('Cannot POST') })
    expect(JSON.stringify(sent)).not.toMatch(/canary|\\u001b/)
  })

  it('has not taken a batch that it had not read when it answered', async () => {
    const hasty = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => {
        socket.pause()
        socket.write(answer('thanks'))
      })
    })
    await new Promise<void>((resolve) => hasty.listen(0, '127.0.0.1', resolve))
    const address = hasty.address()
    const port = typeof address === 'object' ? address?.port : 0
    // More than the buffers of a connection hold.
    const sent = await post(`http://127.0.0.1:${port}/`, { body: 'x'.repeat(64 << 20) })
    expect(sent).toMatchObject({ kind: 'down', message: expect.stringContaining('before') })
    hasty.close()
  })

  it('with a certificate that has expired, or without TLS, is down and gets nothing', async () => {
    const expired = await startBadServer({ tls: { key: KEY, cert: EXPIRED } })
    expect(await post(expired.origin.replace('http:', 'https:'))).toMatchObject({
      kind: 'down',
      message: expect.stringContaining('tls_error'),
    })
    expect(expired.requests()).toEqual([])
    await expired.close()
    const plain = receiver.requests().length
    expect(await post(receiver.origin.replace('http:', 'https:'), { timeoutMs: 1_000 })).toMatchObject({ kind: 'down' })
    expect(receiver.requests().length).toBe(plain)
  })

  it('that asks for a pause of thirty million years is asked again within the hour', async () => {
    const sent = await postTo('/busy-for-ages')
    const asked = sent.kind === 'down' ? sent.retryAfterMs : undefined
    expect(asked).toBe(999_999_999_999_999_000)
    expect(pauseAfter(1, asked, () => 0)).toBe(3_600_000)
  })
})
