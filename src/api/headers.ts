import type { ServerResponse } from 'node:http'

const PAGE_RULES =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

/** On every response, including errors. */
export function setHeaders(response: ServerResponse, path: string): void {
  const headers = {
    'content-security-policy': PAGE_RULES,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'cross-origin-embedder-policy': 'require-corp',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    'cache-control': path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-store',
  }
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
}
