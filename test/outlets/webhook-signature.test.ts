import { describe, expect, it } from 'vitest'
import { checkedSecret, signatureOf, webhookHeaders } from '../../src/outlets/webhook-signature.js'

/** Computed with `openssl dgst -sha256 -mac HMAC`; the first is the example of the libraries of Standard Webhooks. */
const ENCODED = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const WEBHOOK = { id: 'alert.began:e1', body: '{"a":"ü"}' }

describe('the signature of a webhook', () => {
  it('is the one of Standard Webhooks', () => {
    expect(signatureOf(ENCODED, 'msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}')).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    )
  })

  it('covers a hash of the id, the time in seconds and the body', () => {
    expect(webhookHeaders({ ...WEBHOOK, secret: ENCODED }, 1_700_000_000_999)).toEqual({
      'webhook-id': '795c5aa015025ddd5965c8a2826202ac',
      'webhook-timestamp': '1700000000',
      'webhook-signature': 'v1,t7BfEl2kwYOY/sdF+cYokw0rvouXmsuNWv1O3rCUlr8=',
    })
  })

  it('uses a secret without whsec_ as it is', () => {
    expect(webhookHeaders({ ...WEBHOOK, secret: 's3cret' }, 1_700_000_000_000)).toMatchObject({
      'webhook-signature': 'v1,4p/mZoI1wXuWarOBrc1DaQbHeORupY0c3aj7g5EzOxo=',
    })
  })

  it('is left out without a secret', () => {
    expect(Object.keys(webhookHeaders({ ...WEBHOOK, secret: null }, 0))).toEqual(['webhook-id', 'webhook-timestamp'])
  })
})

describe('the secret of a webhook', () => {
  const check = (secret: string | undefined) => checkedSecret(secret, (fault) => new Error(`it ${fault}`))

  it.each([ENCODED, 'whsec_c2hvYWw=', 's3cret', 'Whsec_*'])('%s is accepted', (secret) => {
    expect(check(secret)).toBe(secret)
  })

  it.each([
    [undefined, 'it is not set or empty'],
    ['', 'it is not set or empty'],
    ['whsec_', 'it starts with whsec_, but the rest is not base64'],
    ['whsec_c2hvYWw', 'it starts with whsec_, but the rest is not base64'],
    ['whsec_c2hv YWw=', 'it starts with whsec_, but the rest is not base64'],
    ['whsec_hunter2!', 'it starts with whsec_, but the rest is not base64'],
  ])('%s is rejected without being shown', (secret, message) => {
    expect(() => check(secret)).toThrow(new Error(message))
  })
})
