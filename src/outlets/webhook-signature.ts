import { createHash, createHmac } from 'node:crypto'

/** Followed by the key in base64. A secret without it is the key itself, which the libraries for receivers call the raw format. */
const ENCODED = 'whsec_'
const BASE64_DIGITS = /^[A-Za-z0-9+/]+={0,2}$/

export interface SignedWebhook {
  /** The same for every attempt to deliver the same thing: receivers drop duplicates by it. */
  readonly id: string
  readonly body: string
  /** Without one the request is not signed. */
  readonly secret: string | null
}

/** Headers as https://www.standardwebhooks.com defines them, so that receivers can verify a request with an existing library. */
export function webhookHeaders({ id, body, secret }: SignedWebhook, now: number): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000))
  // Hashed: dots separate what is signed, and an id may contain names with dots or with characters that a header cannot hold.
  const webhookId = createHash('sha256').update(id).digest('hex').slice(0, 32)
  return {
    'webhook-id': webhookId,
    'webhook-timestamp': timestamp,
    ...(secret !== null && { 'webhook-signature': signatureOf(secret, `${webhookId}.${timestamp}.${body}`) }),
  }
}

export function signatureOf(secret: string, content: string): string {
  const key = secret.startsWith(ENCODED) ? Buffer.from(secret.slice(ENCODED.length), 'base64') : secret
  return `v1,${createHmac('sha256', key).update(content).digest('base64')}`
}

/**
 * The secret, or what is wrong with it, without showing it. Node decodes broken base64 as far as it can: a secret that was cut off would
 * sign with another key, and all that anybody would see are receivers that reject it.
 */
export function checkedSecret(secret: string | undefined, refuse: (fault: string) => Error): string {
  if (secret === undefined || secret === '') throw refuse('is not set or empty')
  if (secret.startsWith(ENCODED) && !isBase64(secret.slice(ENCODED.length)))
    throw refuse(`starts with ${ENCODED}, but the rest is not base64`)
  return secret
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && BASE64_DIGITS.test(text)
}
