import { expect, it } from 'vitest'
import { ManualClock } from '../../src/clock.js'
import { reportedFeedPlace, reportFeedPlace } from '../../src/coordinator/feed-places.js'
import { memoryNotes } from '../../src/notes/memory/memory-notes.js'
import { defineSpider, type FeedDefinition } from '../../src/spider/definition.js'
import { spiderFromDefinition } from '../../src/spider/resolve.js'

const DAY = 86_400_000

function spider(feed: true | FeedDefinition) {
  return spiderFromDefinition(
    defineSpider({ name: 's', start: ['https://a.example/'], feed, routes: { page: { match: '**' } } }),
  )
}

it('a machine without the spider file learns from the workers where the feed is', async () => {
  const clock = new ManualClock()
  const notes = memoryNotes({ clock })
  await reportFeedPlace(notes, 'w1', spider(true))
  expect(await reportedFeedPlace(notes, 's')).toBeNull()
  await reportFeedPlace(notes, 'w1', spider({ redisKey: 'orders', stream: true, group: 'g' }))
  await reportFeedPlace(notes, 'w2', spider({ redisKey: 'orders', stream: true, group: 'g' }))
  expect(await reportedFeedPlace(notes, 's')).toEqual({ kind: 'stream', key: 'orders', group: 'g' })
  // The spider was changed back: the old place must not be found any more.
  await reportFeedPlace(notes, 'w2', spider(true))
  expect(await reportedFeedPlace(notes, 's')).toEqual({ kind: 'list', key: null, group: 'shoal' })
})

it('the note is renewed for as long as workers run', async () => {
  const clock = new ManualClock()
  const notes = memoryNotes({ clock })
  for (let day = 0; day < 200; day++) {
    await reportFeedPlace(notes, 'w1', spider({ redisKey: 'orders' }))
    clock.advance(DAY)
  }
  expect(await reportedFeedPlace(notes, 's')).toMatchObject({ key: 'orders' })
  clock.advance(91 * DAY)
  expect(await reportedFeedPlace(notes, 's')).toBeNull()
})
