import { expect, it } from 'vitest'
import { afterRedirect, headersFor, redirectTarget } from '../../src/worker/redirects.js'

const POST = { method: 'POST', body: 'a=1', headers: { 'x-a': '1' } }
const PUT = { method: 'PUT', body: 'a=1' }

it.each([
  [301, '/next'],
  [302, '/next'],
  [303, '/next'],
  [307, '/next'],
  [308, '/next'],
  [200, null],
  [300, null],
  [304, null],
])('a %i with a Location leads to %s', (status, target) => {
  expect(redirectTarget({ status, headers: { location: '/next' } })).toBe(target)
})

it('a redirect without a Location leads nowhere', () => {
  expect(redirectTarget({ status: 302, headers: {} })).toBeNull()
  expect(redirectTarget({ status: 302, headers: { location: '' } })).toBeNull()
})

it.each([
  ['POST', 301, POST, { headers: POST.headers }],
  ['POST', 302, POST, { headers: POST.headers }],
  ['POST', 303, POST, { headers: POST.headers }],
  ['POST', 307, POST, POST],
  ['POST', 308, POST, POST],
  ['PUT', 302, PUT, PUT],
  ['PUT', 303, PUT, {}],
])('a %s is after %i what browsers make of it', (_method, status, request, expected) => {
  expect(afterRedirect(request, status)).toEqual(expected)
})

it('gives the same headers for the same spider as one object, unless a link has its own', () => {
  const base = { 'x-a': '1' }
  expect(headersFor('Shoal', base, undefined)).toBe(headersFor('Shoal', base, undefined))
  expect(headersFor('Shoal', base, { 'x-a': '2' })).toEqual({ 'user-agent': 'Shoal', 'x-a': '2' })
  expect(headersFor('Other', base, undefined)).toEqual({ 'user-agent': 'Other', 'x-a': '1' })
})
