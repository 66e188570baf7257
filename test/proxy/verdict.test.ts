import { describe, expect, it } from 'vitest'
import { retryAfterIn } from '../../src/politeness/retry-after.js'
import { type BanPredicate, verdictOfAnswer, verdictOfError } from '../../src/proxy/verdict.js'

const URL_HERE = 'https://shop.example/'

function kindOf(
  answer: { url?: string; status?: number; headers?: Record<string, string>; body?: string },
  predicate: BanPredicate | null = null,
): string {
  const { url = URL_HERE, status = 200, headers = {}, body = '' } = answer
  const judged = { url, status, headers, body: new TextEncoder().encode(body), retryAfterMs: retryAfterIn(headers) }
  return verdictOfAnswer(judged, predicate).kind
}

const MENU = '<a href="/1">a</a><a href="/2">b</a><a href="/3">c</a><a href="/4">d</a>'

describe('an answer through a proxy', () => {
  it.each([
    [{ status: 200, body: '<h1>Chairs</h1>' }, 'good'],
    [{ status: 404, body: 'not here' }, 'good'],
    [{ status: 410, body: 'are you human?' }, 'good'],
    [{ status: 401 }, 'good'],
    [{ status: 301, headers: { location: '/new-place' } }, 'good'],
    [{ status: 500 }, 'neutral'],
    [{ status: 503, headers: { 'retry-after': '5' } }, 'neutral'],
    [{ status: 503 }, 'banned'],
    [{ status: 502 }, 'banned'],
    [{ status: 403 }, 'banned'],
    [{ status: 429, headers: { 'retry-after': '5' } }, 'banned'],
    [{ status: 407 }, 'banned'],
    [{ status: 503, body: '<form><div class="g-recaptcha"></div></form>' }, 'banned'],
    [{ status: 302, headers: { location: 'https://shop.example/captcha?next=%2F' } }, 'banned'],
    [{ status: 302, headers: { location: '/captchas-explained' } }, 'good'],
    [{ url: 'https://shop.example/challenge/two', status: 301, headers: { location: '/challenge/two/' } }, 'good'],
    [{ status: 200, headers: { 'cf-mitigated': 'challenge' } }, 'banned'],
    [{ status: 405, headers: { 'x-amzn-waf-action': 'captcha' } }, 'banned'],
    [{ status: 200, body: '<script>window._cf_chl_opt={cvId:"3"}</script>' }, 'banned'],
    [{ status: 200, body: `<script>var dd={'rt':'c','cid':'x'}</script>` }, 'banned'],
    [{ status: 200, body: '<div id="px-captcha"></div>' }, 'banned'],
    [{ status: 200, body: '<iframe src="/_Incapsula_Resource?SWUDNSAI=31&incident_id=1"></iframe>' }, 'banned'],
    [{ status: 200, body: '<form method="get" action="/errors/validateCaptcha">' }, 'banned'],
    [{ status: 200, body: '<title>Just a moment...</title>' }, 'banned'],
    [{ status: 200, headers: { 'content-type': 'application/json' }, body: '{"js":"_cf_chl_opt"}' }, 'good'],
    [{ status: 200, headers: { 'content-type': 'text/html' }, body: '<i id="challenge-error-text">' }, 'banned'],
    [{ status: 200, body: '<script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script>' }, 'good'],
    [{ status: 200, body: '<title>Access Denied</title><p>Reference #18</p>' }, 'banned'],
  ])('%j is %s', (answer, kind) => {
    expect(kindOf(answer)).toBe(kind)
  })

  it('a page that talks about captchas, or has one in a form, is a page', () => {
    expect(kindOf({ body: `<title>Captcha</title>${MENU}<p>A captcha tells robots from people.</p>` })).toBe('good')
    expect(kindOf({ body: '<title>Log in</title><form><div class="g-recaptcha"></div></form>' })).toBe('good')
    expect(kindOf({ body: `<p>${'how _cf_chl_opt works '.repeat(4000)}</p>` })).toBe('good')
    expect(kindOf({ status: 404, body: 'the page about captcha is gone' })).toBe('good')
  })

  it("hands the site's own wait on", () => {
    const waitOf = (headers: Record<string, string>) =>
      verdictOfAnswer(
        { url: URL_HERE, status: 429, headers, body: new Uint8Array(), retryAfterMs: retryAfterIn(headers) },
        null,
      )
    expect(waitOf({ 'retry-after': '5' })).toEqual({ kind: 'banned', retryAfterMs: 5_000 })
    const dates = { date: 'Sun, 15 Nov 2026 21:00:00 GMT', 'retry-after': 'Sun, 15 Nov 2026 21:00:30 GMT' }
    expect(waitOf(dates)).toEqual({ kind: 'banned', retryAfterMs: 30_000 })
    expect(waitOf({ 'retry-after': dates['retry-after'] })).toEqual({ kind: 'banned', retryAfterMs: null })
    expect(waitOf({})).toEqual({ kind: 'banned', retryAfterMs: null })
  })

  it('asks the user', () => {
    const soldOut: BanPredicate = ({ status, text }) => status === 200 && text.includes('region not served')
    expect(kindOf({ body: 'region not served' }, soldOut)).toBe('banned')
    expect(kindOf({ body: 'Chairs' }, soldOut)).toBe('good')
  })
})

describe('a failure through a proxy', () => {
  it.each([
    ['proxy_error', 'broken'],
    ['timeout', 'banned'],
    ['connect_error', 'banned'],
    ['truncated', 'banned'],
    ['tls_error', 'banned'],
    ['dns_not_found', 'neutral'],
    ['too_large', 'neutral'],
    ['aborted', 'neutral'],
  ] as const)('%s is %s', (code, kind) => {
    expect(verdictOfError({ code }).kind).toBe(kind)
  })
})
