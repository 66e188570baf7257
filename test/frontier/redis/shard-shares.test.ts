import { describe, expect, it } from 'vitest'
import { bytesOnly, giveUp, outOfBytes, type ShardShare } from '../../../src/frontier/redis/shard-shares.js'

const shard = (used: readonly number[], share: readonly number[]): ShardShare => ({ used, share })

describe('a shard that is asked for some of its share', () => {
  it('gives half of what it has to spare, or what is needed', () => {
    expect(giveUp(shard([0, 0, 0], [100, 100, 100]), 1, [0, 0, 0])).toEqual([50, 50, 50])
    expect(giveUp(shard([0, 0, 0], [100, 100, 100]), 80, [0, 30, 79])).toEqual([80, 50, 50])
  })

  it('never gives what it has used, or what is not limited', () => {
    expect(giveUp(shard([90, 100, 120], [100, 100, 100]), 80, [0, 0, 0])).toEqual([10, 0, 0])
    expect(giveUp(shard([5, 5, 5], [-1, -1, -1]), 80, [0, 0, 0])).toEqual([0, 0, 0])
  })
})

describe('a budget of bytes', () => {
  it('is short where links wait and the share is spent', () => {
    const rich = shard([3, 0, 10], [-1, -1, 100])
    expect(outOfBytes([rich, shard([0, 0, 120], [-1, -1, 100]), shard([1, 0, 120], [-1, -1, 100])])).toEqual({
      shard: 2,
      need: 21,
    })
    expect(outOfBytes([rich, shard([1, 0, 120], [-1, -1, -1])])).toBeNull()
  })

  it('moves alone', () => {
    expect(bytesOnly([shard([1, 2, 3], [10, 20, 30])])).toEqual([shard([1, 2, 3], [-1, -1, 30])])
  })
})
