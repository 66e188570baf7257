import { expect, it } from 'vitest'
import { parseUrl } from '../../src/url/parse-url.js'

it('says the same however often it is asked', () => {
  for (let i = 0; i < 20_000; i++) {
    if (parseUrl('http://bücher.example/') === null) expect.unreachable()
  }
  expect(parseUrl('a', 'http://e.com/b')?.href).toBe('http://e.com/a')
  expect(parseUrl('a')).toBeNull()
})
