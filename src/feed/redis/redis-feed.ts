import type { Clock } from '../../clock.js'
import type { RedisConnection } from '../../redis/connection.js'
import type { Feed, FeedPlace } from '../feed.js'
import { defaultFeedKey, feedKeys } from './keys.js'
import { listFeed } from './list-feed.js'
import { streamFeed } from './stream-feed.js'

export interface RedisFeedOptions {
  readonly spider: string
  readonly place: FeedPlace
  /** Name of this process among the consumers of a stream. */
  readonly consumer: string
  readonly clock: Clock
}

export function redisFeed(redis: RedisConnection, { spider, place, consumer, clock }: RedisFeedOptions): Feed {
  const keys = feedKeys(place.key ?? defaultFeedKey(spider))
  return place.kind === 'list' ? listFeed(redis, keys, clock) : streamFeed(redis, keys, place.group, consumer, clock)
}
