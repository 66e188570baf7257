import { expect, it } from 'vitest'
import { watchPause } from '../../src/run/watch-pause.js'

const stats = (left: number, rate: number) => ({ queued: left, delayed: 0, leased: 0, rate })

it.each([
  ['a crawl that has just begun', stats(10_000, 100), 1_000, 250],
  ['a crawl with much to do', stats(10_000, 100), 60_000, 1_000],
  ['a crawl that waits', stats(5, 0), 60_000, 1_000],
  ['a crawl that ends in a second', stats(100, 100), 60_000, 500],
  ['a crawl whose last page is under way', { ...stats(0, 100), leased: 1 }, 60_000, 250],
])('reads the counters of %s', (_, crawl, ageMs, pauseMs) => {
  expect(watchPause(crawl, ageMs)).toBe(pauseMs)
})
