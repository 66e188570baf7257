import { expect, it } from 'vitest'
import { readRefresh } from '../../../src/spider/html/refresh.js'

it.each<[string, string | null]>([
  // As Chromium follows them.
  ['0;url=/r', '/r'],
  ['0;url=rel', 'rel'],
  ['0; URL=café', 'café'],
  ['0;/bare', '/bare'],
  ['0 /space', '/space'],
  ['0,/comma', '/comma'],
  ['0 url=/sp', '/sp'],
  ['0;url="/q"x', '/q'],
  ["0;url='/sq", '/sq'],
  ['0; "/quoted" more', '/quoted'],
  ['.5;url=/dot', '/dot'],
  ['0.5;url=/decimal', '/decimal'],
  ['5..5.5;url=/dots', '/dots'],
  ['0;urls=/urls', 'urls=/urls'],
  ['0;url', 'url'],
  ['0;ur=/x', 'ur=/x'],
  ['0;;url=/semi2', ';url=/semi2'],
  ['\t\n\f\r 0 \n; \t url \n = \t /spaces', '/spaces'],
  ['0 , url=/both', '/both'],
  // To the page itself, or nowhere.
  ['0', null],
  ['', null],
  ['   ', null],
  ['0;', null],
  ['0; url=', null],
  ['0; url=""', null],
  ['x;url=/no', null],
  [';url=/no', null],
  ['-1;url=/neg', null],
  ['1e0;url=/e', null],
  ['+1;url=/plus', null],
  ['0x;url=/no', null],
])('%j leads to %j', (content, target) => {
  expect(readRefresh(content)).toBe(target)
})

it('reads a megabyte of anything in linear time', () => {
  const started = performance.now()
  for (const piece of [' ', '0', '.', ';', 'u', 'url ', '0 ', '; ', '"', "'", '=']) {
    readRefresh(piece.repeat(1 << 20))
    readRefresh(`0${piece.repeat(1 << 20)}`)
    readRefresh(`0;url=${piece.repeat(1 << 20)}x`)
  }
  expect(performance.now() - started).toBeLessThan(2_000)
})
