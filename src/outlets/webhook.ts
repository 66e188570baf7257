import type { Clock } from '../clock.js'
import type { Fetcher } from '../fetch/fetcher.js'
import type { StoredRecord } from '../store/record-store.js'
import type { WebhookOutlet } from './outlet.js'
import { postWebhook } from './post-webhook.js'
import type { Sink } from './sink.js'

/** Larger batches go in parts: many servers take no more. One record may be larger, and goes alone. */
const PART_BYTES = 1024 * 1024

/** POST of JSON, signed with the secret if there is one (docs/outlets.md). */
export function webhookSink(
  outlet: WebhookOutlet,
  { fetcher, clock, secret }: { fetcher: Fetcher; clock: Clock; secret: string | null },
): Sink {
  const headers = { 'shoal-outlet': outlet.name }
  return {
    async send({ records }, signal) {
      for (const body of bodiesOf(outlet.name, records)) {
        // The same batch has the same body, and so the same id.
        const sent = await postWebhook({ ...outlet, headers, id: body, body, secret }, { fetcher, clock }, signal)
        if (sent.kind !== 'taken') return sent
      }
      return { kind: 'taken', trimmed: 0 }
    },
    close: async () => {},
  }
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
