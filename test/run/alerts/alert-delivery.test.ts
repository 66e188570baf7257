import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Clock, seededRandom, systemClock } from '../../../src/clock.js'
import type { Alert } from '../../../src/observe/alerts/alert.js'
import type { Undelivered } from '../../../src/observe/alerts/alert-notes.js'
import { nextEpisodes } from '../../../src/observe/alerts/episodes.js'
import { type AlertChannels, openChannels } from '../../../src/run/alerts/alert-channels.js'
import { commandChannel } from '../../../src/run/alerts/alert-command.js'
import { alertDelivery } from '../../../src/run/alerts/alert-delivery.js'
import { loadAlerts } from '../../../src/run/alerts/load-alerts.js'
import { freePort, until } from '../../support/redis-server.js'
import { logInto } from './watched.js'

interface Post {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

let server: Server
let url: string
let folder: string
let posts: Post[]
/** The next ones; then 204. */
let answers: (number | 'hang')[]
let told: string[]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'shoal-alerts-'))
  server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      posts.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
      const answer = answers.shift() ?? 204
      if (answer !== 'hang') response.writeHead(answer).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks/T0K3N`
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  posts = []
  answers = []
  told = []
})

const ALERT: Alert = {
  ...{ rule: 'error_spike', severity: 'warn', episode: 'e1', about: 'c1', crawl: 'c1', spider: 'books', since: 1_000 },
  ...{ message: 'half of the visits failed', next: 'See which errors.', fields: { share: 0.5 } },
}

function undelivered(event: Undelivered['event'] = 'alert.began'): Undelivered {
  return { id: `${event}:e1`, event, alert: ALERT, at: systemClock.now(), delivered: [] }
}

/** As `printf 'alert.began:e1' | sha256sum | cut -c1-32` prints it. */
const BEGAN_ID = '795c5aa015025ddd5965c8a2826202ac'
const ENDED_ID = '28f343dddcfc55fb03a0ccfd22d7708d'

/** Pauses between two tries are a twentieth of what they are. */
const hasty: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms / 20, signal) }

const ENCODED_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

function setup(file: object) {
  const path = join(folder, 'alerts.json')
  writeFileSync(path, JSON.stringify(file))
  return loadAlerts(path, { HOOK: 's3cret', ENCODED: ENCODED_SECRET })
}

function hook(given: object = {}) {
  return { url, secret: { env: 'HOOK' }, allowPrivate: ['127.0.0.1:*'], timeout: '200ms', ...given }
}

async function deliver(file: object, events: readonly Undelivered[], work: () => Promise<void>): Promise<string[]> {
  const heard: string[] = []
  const opened: AlertChannels = await openChannels(setup(file), hasty)
  const onDelivered = (id: string, channel: string) => void heard.push(`${id} ${channel.split(' (')[0]}`)
  const parts = { channels: opened.channels, clock: hasty, random: seededRandom(1), log: logInto(told), onDelivered }
  const delivery = alertDelivery(parts)
  delivery.send(events)
  await work()
  await delivery.finish(2_000)
  await opened.close()
  return heard
}

describe('a webhook of alerts', () => {
  it('gets the alert as JSON, with a signature over id, time and body', async () => {
    const heard = await deliver({ webhooks: [hook()] }, [undelivered()], async () => {})
    expect(heard).toEqual(['alert.began:e1 webhook 1'])
    const [{ headers, body } = { headers: {}, body: '' }] = posts
    expect(JSON.parse(body)).toMatchObject({ id: 'alert.began:e1', event: 'alert.began', test: false, alert: ALERT })
    const seconds = headers['webhook-timestamp']
    const signature = createHmac('sha256', 's3cret').update(`${BEGAN_ID}.${seconds}.${body}`).digest('base64')
    expect(headers).toMatchObject({ 'webhook-id': BEGAN_ID, 'webhook-signature': `v1,${signature}` })
    expect(headers).toMatchObject({ 'shoal-event': 'alert.began', 'content-type': 'application/json' })
    expect(Math.abs(Number(seconds) * 1000 - systemClock.now())).toBeLessThan(60_000)
  })

  it('hears of things with names in any script', async () => {
    const { rule, episode: _, since: _since, ...finding } = { ...ALERT, about: '価格 💰' }
    const verdict = { found: [{ ...finding, level: 'over' as const }], lastingMs: 0, keepsUntil: 0, room: 1 }
    const [alert = ALERT] = nextEpisodes(new Map(), rule, { ...verdict, isWatched: () => true }, 1_000).began
    const heard = await deliver(
      { webhooks: [hook()] },
      [{ ...undelivered(), id: alert.episode, alert }],
      async () => {},
    )
    expect(heard).toHaveLength(1)
    expect(told).toEqual([])
    expect(posts[0]?.headers['webhook-id']).toMatch(/^[0-9a-f]{32}$/)
    expect(JSON.parse(alert.episode)).toEqual([rule, 'c1', '価格 💰', 1_000])
  })

  it('is asked again after an error and after silence, with the same id, and hears everything in order', async () => {
    answers = [500, 'hang', 503]
    const heard = await deliver({ webhooks: [hook()] }, [undelivered(), undelivered('alert.ended')], () =>
      until('five posts', async () => posts.length >= 5, 10_000),
    )
    expect(heard).toEqual(['alert.began:e1 webhook 1', 'alert.ended:e1 webhook 1'])
    const ids = posts.map(({ headers }) => headers['webhook-id'])
    expect(ids).toEqual([BEGAN_ID, BEGAN_ID, BEGAN_ID, BEGAN_ID, ENDED_ID])
    expect(told).toEqual([expect.stringMatching(/^alert\.undelivered /)])
  })

  it('that refuses is not asked again, and holds up no other', async () => {
    answers = [404]
    const heard = await deliver({ webhooks: [hook(), hook()] }, [undelivered()], () =>
      until('two posts', async () => posts.length >= 2, 10_000),
    )
    expect(heard.sort()).toEqual(['alert.began:e1 webhook 1', 'alert.began:e1 webhook 2'])
    expect(posts).toHaveLength(2)
    expect(told).toHaveLength(1)
  })

  it('on a private address is refused unless it is allowed, without its address in the log', async () => {
    const lines: string[] = []
    const opened = await openChannels(setup({ webhooks: [hook({ allowPrivate: [] })] }), systemClock)
    const [channel] = opened.channels
    const message = { ...undelivered(), test: false }
    const answer = await channel?.deliver(message, new AbortController().signal)
    await opened.close()
    expect(answer).toMatchObject({ kind: 'rejected', message: expect.stringContaining('private_address') })
    lines.push(channel?.name ?? '', JSON.stringify(answer))
    expect(lines.join('\n')).not.toContain('T0K3N')
    expect(posts).toEqual([])
  })

  it('that is away when the process ends is left to the next watcher', async () => {
    answers = ['hang', 'hang', 'hang', 'hang', 'hang', 'hang']
    const opened = await openChannels(setup({ webhooks: [hook({ timeout: '30s' })] }), systemClock)
    const heard: string[] = []
    const onDelivered = (id: string) => void heard.push(id)
    const parts = {
      channels: opened.channels,
      clock: systemClock,
      random: seededRandom(1),
      log: logInto(told),
      onDelivered,
    }
    const delivery = alertDelivery(parts)
    delivery.send([undelivered()])
    await until('a post', async () => posts.length === 1, 10_000)
    await delivery.finish(50)
    await opened.close()
    expect(heard).toEqual([])
  })
})

it('a channel that throws is asked again, and neither ends the process nor holds up the end', async () => {
  let asked = 0
  const channel = {
    name: 'broken',
    deliver: () => (++asked === 1 ? Promise.reject(new Error('no')) : Promise.resolve({ kind: 'delivered' as const })),
  }
  const heard: string[] = []
  const onDelivered = (id: string) => void heard.push(id)
  const delivery = alertDelivery({
    channels: [channel],
    ...{ clock: hasty, random: seededRandom(1), log: logInto(told), onDelivered },
  })
  delivery.send([undelivered()])
  await delivery.finish(10_000)
  expect(heard).toEqual(['alert.began:e1'])
  expect(told).toEqual(['alert.undelivered error_spike'])
})

describe('docs/alerts.md', () => {
  const text = readFileSync(new URL('../../../docs/alerts.md', import.meta.url), 'utf8')

  it('shows a file that is accepted, and names every rule with its thresholds', () => {
    const [, file = ''] = /^```json alerts\.json\n([\s\S]*?)^```$/m.exec(text) ?? []
    expect(setup(JSON.parse(file.replace('ALERTS_SECRET', 'HOOK')))).toMatchObject({ rules: { eta_slipping: null } })
    for (const [rule, set] of Object.entries(loadAlerts(null, {}).rules)) {
      const row = text.split('\n').find((line) => line.startsWith(`| \`${rule}\``))
      for (const name of Object.keys(set?.thresholds ?? {})) expect(row, rule).toContain(`\`${name}\``)
    }
  })

  it('signs so that the receiver of docs/outlets.md accepts it, and nothing else', async () => {
    const page = readFileSync(new URL('../../../docs/outlets.md', import.meta.url), 'utf8')
    const [, program = ''] = /^```js verify\.mjs\n([\s\S]*?)^```$/m.exec(page) ?? []
    const port = await freePort()
    const env = { ...process.env, WEBHOOK_SECRET: ENCODED_SECRET, PORT: String(port) }
    const receiver = spawn(process.execPath, ['--input-type=module', '-e', program], { env })
    let said = ''
    receiver.stdout.on('data', (chunk: Buffer) => {
      said += String(chunk)
    })
    const message = { ...undelivered(), test: false }
    const at = (secret: object) => hook({ url: `http://127.0.0.1:${port}/`, timeout: '5s', ...secret })
    const opened = await openChannels(
      setup({ webhooks: [at({ secret: { env: 'ENCODED' } }), at({ secret: undefined })] }),
      systemClock,
    )
    try {
      const [signed, plain] = opened.channels.map(
        (channel) => () => channel.deliver(message, new AbortController().signal),
      )
      await until('the receiver', async () => (await signed?.())?.kind === 'delivered')
      expect(said).toContain('alert.began error_spike half of the visits failed')
      expect(await plain?.()).toEqual({ kind: 'rejected', message: 'it answers 401' })
    } finally {
      receiver.kill('SIGKILL')
      await opened.close()
    }
  })
})

describe('a command for alerts', () => {
  const message = { id: 'i', event: 'alert.began', test: false, at: 1, alert: ALERT } as const
  const run = (argv: readonly string[], timeoutMs = 10_000) =>
    commandChannel(argv, { clock: systemClock, number: 1, env: process.env, timeoutMs }).deliver(
      message,
      new AbortController().signal,
    )

  it('gets the alert as JSON on its standard input, and its words as they are', async () => {
    const file = join(folder, 'heard; $(touch x)')
    expect(await run(['tee', file])).toEqual({ kind: 'delivered' })
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(message)
  })

  it('that fails says why; one that is not there cannot be told', async () => {
    expect(await run(['sh', '-c', 'echo no money >&2; exit 3'])).toEqual({
      kind: 'down',
      message: 'it ended with 3: no money',
    })
    expect(await run(['shoal-no-such-program'])).toEqual({ kind: 'rejected', message: 'there is no such program' })
    expect(await run(['/etc/passwd/x'])).toEqual({ kind: 'rejected', message: 'it cannot be started' })
  })

  it('that hangs is ended, with what it has started', async () => {
    const file = join(folder, 'pid')
    const began = run(['sh', '-c', `sleep 60 & echo $! > ${file}; wait`], 500)
    expect(await began).toEqual({ kind: 'down', message: 'it did not end within 0.5 s' })
    const pid = Number(readFileSync(file, 'utf8'))
    await until('its end', async () => hasEnded(pid), 10_000)
  })

  it('does not see the secrets of webhooks, nor the settings of Shoal', async () => {
    const file = join(folder, 'env')
    process.env.TEST_HOOK_SECRET = 's3cret'
    process.env.SHOAL_TEST_TOKEN = 't0ken'
    try {
      const path = join(folder, 'alerts.json')
      const commands = [['sh', '-c', `env > ${file}`]]
      writeFileSync(path, JSON.stringify({ webhooks: [hook({ secret: { env: 'TEST_HOOK_SECRET' } })], commands }))
      const opened = await openChannels(loadAlerts(path, process.env), systemClock)
      await opened.channels[1]?.deliver(message, new AbortController().signal)
      await opened.close()
      expect(readFileSync(file, 'utf8')).toContain('PATH=')
      expect(readFileSync(file, 'utf8')).not.toMatch(/s3cret|SHOAL_/)
    } finally {
      delete process.env.TEST_HOOK_SECRET
      delete process.env.SHOAL_TEST_TOKEN
    }
  })
})

/** Gone, or ended and not yet waited for. */
function hasEnded(pid: number): boolean {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}

describe('the file of alerts', () => {
  const failure = (text: string, env: Record<string, string> = {}): string => {
    const path = join(folder, 'wrong.json')
    writeFileSync(path, text)
    try {
      loadAlerts(path, env)
      return ''
    } catch (error) {
      return String(error)
    }
  }

  it('has defaults for everything', () => {
    expect(loadAlerts(null, {}).rules.error_spike?.thresholds).toMatchObject({ share: 0.2, window: 300_000 })
    expect(setup({ rules: { error_spike: { share: 0.3 }, no_progress: false } }).rules).toMatchObject({
      error_spike: { thresholds: { share: 0.3, times: 3 } },
      no_progress: null,
      dead_rising: { thresholds: { dead: 20 } },
    })
  })

  it('is refused with a guess at what was meant, and never shows what could be a secret', () => {
    expect(failure('{"rules":{"error_spik":{}}}')).toContain(
      "rules: unknown option 'error_spik', did you mean 'error_spike'?",
    )
    expect(failure('{"rules":{"error_spike":{"shar":1}}}')).toContain("did you mean 'share'?")
    expect(failure('{"webhook":[]}')).toContain("did you mean 'webhooks'?")
    expect(failure('{"commands":["notify"]}')).toContain('commands[0]')
    expect(failure('{')).toContain('wrong.json is not JSON')
    const secrets = [
      '{"webhooks":[{"url":"https://a.example/","secret":"hunter2"}]}',
      '{"webhooks":[{"url":"https://user:hunter2@a.example/"}]}',
      '{"webhooks":["https://a.example/hunter2"]}',
      '{"webhooks":[{"url":"hunter2"}]}',
      '{"webhooks":[{"https://a.example/hunter2":1}]}',
    ].map((text) => failure(text))
    for (const message of secrets) expect(message).toMatch(/alerts_invalid|wrong\.json/)
    expect(secrets.join('\n')).not.toContain('hunter2')
    const missing = failure('{"webhooks":[{"url":"https://a.example/","secret":{"env":"NOT_SET"}}]}')
    expect(missing).toContain('the environment variable NOT_SET is not set')
  })

  it('takes a secret from a file beside it', () => {
    writeFileSync(join(folder, 'hook.secret'), 'from a file\n')
    const file = { webhooks: [hook({ secret: { file: 'hook.secret' } })] }
    expect(setup(file).webhooks[0]?.secret).toBe('from a file')
  })
})
