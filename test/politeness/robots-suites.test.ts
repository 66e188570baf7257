import { describe, expect, it } from 'vitest'
import { ownPart, parseRobots, type Robots, robotsOf, textOf } from '../../src/politeness/robots.js'
import { type RobotsCase, SUITES } from './robots-cases.js'

interface Check {
  readonly says: string
  readonly holds: (robots: Robots) => boolean
}

function checksOf({ yes = [], no = [], delay, sitemaps }: RobotsCase): Check[] {
  return [
    ...yes.map((path) => ({ says: `allows ${path}`, holds: (robots: Robots) => robots.allows(path) })),
    ...no.map((path) => ({ says: `forbids ${path}`, holds: (robots: Robots) => !robots.allows(path) })),
    ...(delay === undefined
      ? []
      : [
          {
            says: `asks for ${delay} s`,
            holds: (robots: Robots) => robots.crawlDelayMs === (delay === null ? null : delay * 1000),
          },
        ]),
    ...(sitemaps === undefined
      ? []
      : [
          {
            says: `names ${sitemaps.join(' and ')}`,
            holds: (robots: Robots) => JSON.stringify(robots.sitemaps) === JSON.stringify(sitemaps),
          },
        ]),
  ]
}

describe('the suites of other parsers', () => {
  it.each(SUITES)('$name', ({ name, cases }) => {
    const wrong: string[] = []
    let passed = 0
    let total = 0
    let otherwise = 0
    for (const one of cases) {
      const file = typeof one.file === 'string' ? one.file.replaceAll('|', '\n') : one.file
      const agent = one.agent ?? 'FooBot'
      const robots = parseRobots(file, agent)
      // What the fleet keeps of a file says the same as the file.
      const kept = robotsOf(ownPart(textOf(ownPart(file, agent)), ''))
      for (const { says, holds } of checksOf(one)) {
        if (one.differs !== undefined) {
          otherwise++
          if (holds(robots)) wrong.push(`${agent}: ${String(one.file)} ${says}, and was expected to differ`)
          continue
        }
        total++
        if (holds(robots) && holds(kept)) passed++
        else wrong.push(`${agent}: ${String(one.file)} ${says}`)
      }
    }
    console.log(`robots.txt, ${name}: ${passed} / ${total}, and ${otherwise} answered otherwise for a reason`)
    expect(wrong.map((text) => text.slice(0, 300))).toEqual([])
  })
})
