import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { liveLines, liveOnScreen } from '../../../src/cli/terminal/live.js'
import { logText } from '../../../src/cli/terminal/log-line.js'
import { styleFor } from '../../../src/cli/terminal/style.js'

const plain = styleFor({}, {})
const TIME = new Date(2026, 0, 2, 3, 4, 5).toISOString()
const text = (fields: Record<string, unknown>) =>
  logText(JSON.stringify({ time: TIME, level: 'info', ...fields }), plain)

it('shows what spider code wrote first, then its page', () => {
  const page = { fp: '1', route: 'product', url: 'https://shop.example/p/1' }
  expect(text({ event: 'page.log', ...page, message: 'sold out 3' })).toBe(
    '03:04:05  sold out 3  product https://shop.example/p/1',
  )
  expect(text({ event: 'spider.output', message: 'loading' })).toBe('03:04:05  loading')
})

it('keeps the lines of a table or an object, under its page', () => {
  expect(
    text({ event: 'spider.output', route: 'product', url: 'https://shop.example/', message: '{\n\ta: 1\n\n}' }),
  ).toBe('03:04:05  product https://shop.example/\n          {\n            a: 1\n\n          }')
  expect(text({ event: 'spider.output', message: 'a\nb' })).toBe('03:04:05  spider\n          a\n          b')
})

it('never lets spider code move the cursor', () => {
  expect(text({ event: 'page.log', message: 'a\x1b[2J\rb\x9b1A' })).toBe('03:04:05  a [2J b 1A')
})

it('prints above the live lines, which stay complete', () => {
  const stream = Object.assign(new PassThrough(), { columns: 40 })
  const live = liveLines(stream as unknown as NodeJS.WriteStream)
  expect(liveOnScreen()).toBe(live)
  live.draw(['progress 1', 'progress 2'])
  stream.read()
  live.say('one\ntwo')
  expect(String(stream.read())).toBe('\x1b[2A\r\x1b[Jone\ntwo\nprogress 1\nprogress 2\n')
  live.stop()
  expect(liveOnScreen()).toBeNull()
})
