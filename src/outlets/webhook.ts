import { createHash, createHmac } from 'node:crypto'
import type { Clock } from '../clock.js'
import type { Fetcher } from '../fetch/fetcher.js'
import type { StoredRecord } from '../store/record-store.js'
import type { WebhookOutlet } from './outlet.js'
import { postJson } from './post-json.js'
import type { Sent, Sink } from './sink.js'

/** Larger batches go in parts: many servers take no more. One record may be larger, and goes alone. */
const PART_BYTES = 1024 * 1024

/** POST of JSON, signed with the secret if there is one (docs/outlets.md). */
export function webhookSink(
  outlet: WebhookOutlet,
  { fetcher, clock, secret }: { fetcher: Fetcher; clock: Clock; secret: string | null },
): Sink {
  const post = (body: string, signal: AbortSignal): Promise<Sent> => {
    const timestamp = String(Math.floor(clock.now() / 1000))
    const headers = {
      'shoal-outlet': outlet.name,
      'shoal-timestamp': timestamp,
      // The same when the same batch is sent again.
      'idempotency-key': createHash('sha256').update(body).digest('hex').slice(0, 32),
      ...(secret !== null && { 'shoal-signature': `v1=${signatureOf(secret, timestamp, body)}` }),
    }
    return postJson({ ...outlet, headers, body }, { fetcher, clock }, signal)
  }

  return {
    async send({ records }, signal) {
      for (const body of bodiesOf(outlet.name, records)) {
        const sent = await post(body, signal)
        if (sent.kind !== 'taken') return sent
      }
      return { kind: 'taken', trimmed: 0 }
    },
    close: async () => {},
  }
}

/** HMAC-SHA256 in hex over timestamp, dot and body. */
export function signatureOf(secret: string, timestamp: string, body: string): string {
  return createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
}

function* bodiesOf(name: string, records: readonly StoredRecord[]): Generator<string> {
  const body = (texts: readonly string[]) => `{"outlet":${JSON.stringify(name)},"records":[${texts.join(',')}]}`
  let texts: string[] = []
  let bytes = 0
  for (const record of records) {
    const text = JSON.stringify(record)
    const length = Buffer.byteLength(text)
    if (texts.length > 0 && bytes + length > PART_BYTES) {
      yield body(texts)
      texts = []
      bytes = 0
    }
    texts.push(text)
    bytes += length
  }
  yield body(texts)
}
