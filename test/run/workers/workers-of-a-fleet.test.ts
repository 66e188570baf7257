import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/clock.js'
import type { CrawlInfo } from '../../../src/frontier/frontier.js'
import { spiderNotices } from '../../../src/run/spider-notices.js'
import { isGone, workerIds } from '../../../src/run/workers/worker-ids.js'

describe('names of workers', () => {
  it('are different in two processes with the same number', () => {
    expect(workerIds(seededRandom(1))()).not.toBe(workerIds(seededRandom(2))())
  })

  it('tell a process of this place that is gone, and nothing of other places', () => {
    const id = workerIds()()
    expect(isGone(id)).toBe(false)
    const dead = id.replace(`-${process.pid}-`, '-4194304-')
    expect(isGone(dead)).toBe(true)
    expect(isGone(dead.replace(hostname(), 'elsewhere'))).toBe(false)
    // Another boot of the machine, or another container: the same number is somebody else's.
    expect(isGone(dead.replace(/-....(....-\d+)$/, '-0000$1'))).toBe(false)
    expect(isGone('w1')).toBe(false)
  })
})

describe('notices about spiders', () => {
  const crawl = (id: string, spider: string, spiderHash: string, state = 'running') =>
    ({ id, spider, spiderHash, state }) as CrawlInfo

  it('are given once for each crawl', () => {
    const notices = spiderNotices([{ name: 'a', hash: '1' }])
    const crawls = [
      crawl('c1', 'a', '1'),
      crawl('c2', 'a', '2'),
      crawl('c3', 'b', '1'),
      crawl('c4', 'b', '1', 'finished'),
    ]
    expect(notices(crawls)).toEqual([
      { event: 'spider.changed', crawl: 'c2', spider: 'a' },
      { event: 'spider.unknown', crawl: 'c3', spider: 'b' },
    ])
    expect(notices(crawls)).toEqual([])
    expect(notices([crawl('c2', 'a', '3')])).toEqual([{ event: 'spider.changed', crawl: 'c2', spider: 'a' }])
  })
})
