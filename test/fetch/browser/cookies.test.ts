import type { BrowserContext, Cookie } from 'playwright-core'
import { expect, it } from 'vitest'
import { changedCookies, cookiesOf, giveCookies } from '../../../src/fetch/browser/cookies.js'

const HOME = 'https://a.example/deep/page'
const cookie = (fields: Partial<Cookie>): Cookie => ({
  ...{ name: 'n', value: '1', domain: 'a.example', path: '/', expires: -1, httpOnly: false, secure: false },
  ...{ sameSite: 'Lax', ...fields },
})

it('cookies are given to the whole host, and none that is refused counts as given', async () => {
  const given = cookiesOf('a=1; b=2; __Host-c=3', HOME)
  expect(given.map(({ name, url }) => [name, url])).toEqual(
    ['a', 'b', '__Host-c'].map((name) => [name, 'https://a.example/']),
  )
  expect(cookiesOf('__Host-c=3; __secure-d=4; a=1', 'http://a.example/')).toHaveLength(1)
  const taken: Cookie[] = []
  const picky = {
    addCookies: async (more: { name: string; value: string }[]) => {
      if (more.some(({ name }) => name === 'b')) throw new Error('no')
      taken.push(...more.map(({ name, value }) => cookie({ name, value })))
    },
    cookies: async () => taken,
  }
  const there = await giveCookies(picky as unknown as BrowserContext, given)
  expect(there.map(({ name }) => name)).toEqual(['a', '__Host-c'])
  expect(changedCookies(taken, there, [], HOME)).toEqual([])
})

it('what changed goes back, and nothing of other hosts', () => {
  const given = cookiesOf('same=1; new=1; gone=1', HOME)
  const now = [
    cookie({ name: 'same' }),
    cookie({ name: 'new', value: '2', httpOnly: true, secure: true }),
    cookie({ name: 'wide', domain: '.example' }),
    cookie({ name: 'frame', domain: 'b.example' }),
    cookie({ name: 'other', domain: '.notexample' }),
  ]
  const sent = ['same=1; Max-Age=60', 'new=2; HttpOnly; Secure', 'gone=; Domain=example; Max-Age=0']
  expect(changedCookies(now, given, sent, HOME)).toEqual([
    'same=1; Max-Age=60',
    'gone=; Domain=example; Max-Age=0',
    'gone=; Path=/; Max-Age=0',
    'new=2; Path=/; Secure; HttpOnly; SameSite=Lax',
    'wide=1; Path=/; Domain=example; SameSite=Lax',
  ])
})
