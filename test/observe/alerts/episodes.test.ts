import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../src/clock.js'
import {
  activeIn,
  ENDS_AFTER_MS,
  type Episodes,
  episodesFrom,
  nextEpisodes,
  type Verdict,
} from '../../../src/observe/alerts/episodes.js'
import type { Finding } from '../../../src/observe/alerts/rules/rule.js'

const LOOK_MS = 5_000

function finding(level: Finding['level'], about = 'crawl'): Finding {
  const texts = { message: `${level} the threshold`, next: '', fields: {} }
  return { about, crawl: 'crawl', spider: 'books', severity: 'warn', level, ...texts }
}

function verdict(found: readonly Finding[], given: Partial<Verdict> = {}): Verdict {
  return { found, lastingMs: 15_000, keepsUntil: 0, room: 100, isWatched: () => true, ...given }
}

/** What begins (+) and ends (-) for one letter a look: o over, n near, . below. */
function play(letters: string, given: Partial<Verdict> = {}): string[] {
  let episodes: Episodes = new Map()
  return [...letters].flatMap((letter, i) => {
    const found = letter === '.' ? [] : [finding(letter === 'o' ? 'over' : 'near')]
    const turn = nextEpisodes(episodes, 'error_spike', verdict(found, given), i * LOOK_MS)
    episodes = turn.episodes
    return [...turn.began.map(() => `+${i}`), ...turn.ended.map(() => `-${i}`)]
  })
}

describe('an episode', () => {
  it('begins when it has lasted, and ends when it has been below for a minute', () => {
    expect(play('ooooooo')).toEqual(['+3'])
    expect(play(`oooo${'.'.repeat(12)}`)).toEqual(['+3'])
    expect(play(`oooo${'.'.repeat(13)}`)).toEqual(['+3', '-16'])
  })

  it('does not begin when it is only near, or not for long enough; near holds what has begun', () => {
    expect(play('nnnnnnnnnn')).toEqual([])
    expect(play('oo.oo.oo.oo.')).toEqual([])
    expect(play('onnnnonnnno')).toEqual([])
    expect(play(`oooo${'n'.repeat(50)}`)).toEqual(['+3'])
    expect(play(`oooo${'...........n'.repeat(5)}`)).toEqual(['+3'])
  })

  it('begins when there is room for it', () => {
    const both = verdict([finding('over', 'a'), finding('over', 'b')], { lastingMs: 0, room: 1 })
    const first = nextEpisodes(new Map(), 'dead_rising', both, 0)
    expect(first.began.map(({ about }) => about)).toEqual(['a'])
    expect(nextEpisodes(first.episodes, 'dead_rising', { ...both, room: 0 }, 1).began).toEqual([])
    expect(nextEpisodes(first.episodes, 'dead_rising', both, 2).began.map(({ about }) => about)).toEqual(['b'])
  })

  it('ends at once with its crawl', () => {
    let episodes = nextEpisodes(new Map(), 'no_progress', verdict([finding('over')], { lastingMs: 0 }), 0).episodes
    const turn = nextEpisodes(episodes, 'no_progress', verdict([], { isWatched: () => false }), 5_000)
    episodes = turn.episodes
    expect(turn.ended).toHaveLength(1)
    expect(activeIn(episodes)).toEqual([])
  })

  it('keeps its name and its beginning, and shows the figures of now', () => {
    const first = nextEpisodes(new Map(), 'no_progress', verdict([finding('over')], { lastingMs: 0 }), 0)
    const later = nextEpisodes(first.episodes, 'no_progress', verdict([finding('near')]), 5_000)
    const [before] = first.began
    expect(activeIn(later.episodes)).toEqual([{ ...before, message: 'near the threshold' }])
    expect(later.began).toEqual([])
  })

  it('is not ended by a watcher that has just taken over and has not seen enough', () => {
    const active = nextEpisodes(new Map(), 'host_stalled', verdict([finding('over')], { lastingMs: 0 }), 0).began
    let episodes = episodesFrom(active)
    const ended: number[] = []
    for (let at = 0; at <= 600_000; at += LOOK_MS) {
      const turn = nextEpisodes(episodes, 'host_stalled', verdict([], { keepsUntil: 300_000 }), at)
      episodes = turn.episodes
      if (turn.ended.length > 0) ended.push(at)
    }
    expect(ended).toEqual([300_000])
  })

  it('never flaps: whatever the figures do, one lasts a minute at least, and begins after it was over for long enough', () => {
    const random = seededRandom(6)
    let begun = 0
    for (let run = 0; run < 100; run++) {
      // Long stretches of each, so that there is something to begin and to end.
      let letter = '.'
      const letters = Array.from({ length: 400 }, () => {
        if (random() < 0.15) letter = 'on.'[Math.floor(random() * 3)] ?? '.'
        return letter
      }).join('')
      const events = play(letters).map((event) => ({ begins: event.startsWith('+'), at: Number(event.slice(1)) }))
      begun += events.length
      const wrong = events.filter(({ begins, at }, i) => {
        const before = events[i - 1]
        if (begins) return before?.begins === true || letters.slice(at - 3, at + 1).includes('.')
        return before?.begins !== true || (at - before.at) * LOOK_MS < ENDS_AFTER_MS
      })
      expect(wrong, letters).toEqual([])
    }
    expect(begun).toBeGreaterThan(100)
  })
})
