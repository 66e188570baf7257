import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManualClock, seededRandom } from '../../src/clock.js'
import type { Limits } from '../../src/frontier/frontier.js'
import { memoryLedger } from '../../src/proxy/memory/memory-ledger.js'
import type { ProxyAnswer, ProxyAsk, ProxyLedger, ProxyReport, ProxyVerdict } from '../../src/proxy/proxy-ledger.js'
import type { MakeLedger } from '../contract/proxy-ledger-contract.js'
import { runs } from '../support/longer.js'

const HOSTS = { 'a.test': 'a.test', 'www.a.test': 'a.test', 'b.test': 'b.test' } as const
const LIMITS: readonly Limits[] = [
  { delayMs: 0, concurrency: 2 },
  { delayMs: 700, concurrency: 3 },
  { delayMs: 0, concurrency: 5, rate: { count: 3, perMs: 1000, burst: 2 } },
  { delayMs: 0, concurrency: Number.POSITIVE_INFINITY },
]
const VERDICTS: readonly ProxyVerdict[] = [
  { kind: 'good' },
  { kind: 'neutral' },
  { kind: 'broken' },
  { kind: 'banned', retryAfterMs: null },
  { kind: 'banned', retryAfterMs: 2500 },
]
const REST = { strikes: 3, baseMs: 2000, capMs: 7000 }
const HOLD_MS = 4000

interface Wanted {
  readonly proxies: readonly string[]
  readonly host: keyof typeof HOSTS
  readonly limits: Limits
}

type Command =
  | { readonly do: 'grant'; readonly asks: readonly Wanted[] }
  /** Of what was asked so far, counted from the last: held or not. */
  | { readonly do: 'repeat'; readonly nth: number }
  | { readonly do: 'report'; readonly nth: number; readonly verdict: ProxyVerdict; readonly elapsedMs: number | null }
  | { readonly do: 'wake'; readonly proxy: string }
  | { readonly do: 'advance'; readonly ms: number }

const proxy = fc.constantFrom('x', 'y', 'z')
const wanted: fc.Arbitrary<Wanted> = fc.record({
  proxies: fc.shuffledSubarray(['x', 'y', 'z'], { minLength: 0 }),
  host: fc.constantFrom(...(Object.keys(HOSTS) as (keyof typeof HOSTS)[])),
  limits: fc.constantFrom(...LIMITS),
})
const nth = fc.nat(6)
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('grant' as const),
      asks: fc.array(wanted, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('repeat' as const), nth }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('report' as const),
      nth,
      verdict: fc.constantFrom(...VERDICTS),
      elapsedMs: fc.constantFrom(null, 0, 30, 900.5),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wake' as const), proxy }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('advance' as const), ms: fc.constantFrom(1, 100, 700, 2000, 5000) }),
  },
)

interface Granted {
  readonly ask: ProxyAsk
  readonly proxy: string
  readonly at: number
}

/** What the test itself knows of a ledger, from its answers alone. */
class Witness {
  readonly #underWay = new Map<string, Granted>()
  readonly #lastStart = new Map<string, number>()
  readonly #everGood = new Set<string>()

  reported(ask: string, verdict: ProxyVerdict, sent: boolean, now: number): void {
    const grant = this.#held(now).find((one) => one.ask.ask === ask)
    if (grant === undefined) return
    this.#underWay.delete(ask)
    if (sent && verdict.kind === 'good') this.#everGood.add(grant.proxy)
  }

  /** `resting`: proxy and site of every rest before the call. */
  answered(ask: ProxyAsk, answer: ProxyAnswer, resting: ReadonlySet<string>, now: number): void {
    if (!answer.ok) return
    const { proxy } = answer
    const already = this.#held(now).find((one) => one.ask.ask === ask.ask)
    if (already !== undefined) {
      expect(proxy).toBe(already.proxy)
      return
    }
    expect(resting.has(`${proxy} `) || resting.has(`${proxy} ${ask.site}`), 'a grant of a resting proxy').toBe(false)
    const place = `${proxy} ${ask.host}`
    const last = this.#lastStart.get(place)
    if (last !== undefined) expect(now - last, 'the gap').toBeGreaterThanOrEqual(ask.limits.delayMs)
    this.#lastStart.set(place, now)
    this.#underWay.set(ask.ask, { ask, proxy, at: now })
    const through = this.#held(now).filter((one) => one.proxy === proxy)
    const here = through.filter((one) => one.ask.host === ask.host)
    expect(here.length, 'requests of a proxy on a host').toBeLessThanOrEqual(ask.limits.concurrency)
    if (!this.#everGood.has(proxy)) expect(through.length, 'requests of an unproved proxy').toBe(1)
  }

  #held(now: number): Granted[] {
    return [...this.#underWay.values()].filter(({ ask, at }) => at + ask.holdMs > now)
  }
}

async function restingOf(ledger: ProxyLedger): Promise<ReadonlySet<string>> {
  const scores = await ledger.scores('p', { limit: 100 })
  return new Set(scores.filter(({ restsUntil }) => restsUntil !== null).map(({ proxy, site }) => `${proxy} ${site}`))
}

function reportOf(ask: ProxyAsk, proxy: string, verdict: ProxyVerdict, elapsedMs: number | null): ProxyReport {
  const { pool, host, site, limits } = ask
  return { ask: ask.ask, pool, proxy, host, site, limits, verdict, elapsedMs, bytes: 10, cost: 0.25, rest: REST }
}

/** The same commands give the same answers and the same scores as the model's, and nothing is ever granted that must not be. */
export function proxyLedgerProperties(driver: string, make: MakeLedger, usualRuns: number): void {
  describe(`proxy ledger properties: ${driver}`, () => {
    it('answers as the model does, within pace, rest and probation', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(command, { maxLength: 60 }), async (commands) => {
          const clock = new ManualClock()
          const model = memoryLedger({ clock })
          const { ledger, close } = await make(clock)
          const witness = new Witness()
          const asked: { ask: ProxyAsk; answer: ProxyAnswer }[] = []
          const grant = async (asks: readonly ProxyAsk[]) => {
            const resting = await restingOf(ledger)
            const answers = await ledger.grant(asks)
            expect(answers).toEqual(await model.grant(asks))
            answers.forEach((answer, i) => {
              const ask = asks[i] as ProxyAsk
              witness.answered(ask, answer, resting, clock.now())
              asked.push({ ask, answer })
            })
          }
          try {
            for (const step of commands) {
              if (step.do === 'advance') clock.advance(step.ms)
              else if (step.do === 'grant') {
                const asks = step.asks.map(({ proxies, host, limits }, i) => {
                  return {
                    ask: `${asked.length + i}`,
                    pool: 'p',
                    proxies,
                    host,
                    site: HOSTS[host],
                    limits,
                    holdMs: HOLD_MS,
                  }
                })
                await grant(asks)
              } else if (step.do === 'wake') {
                await ledger.wake('p', step.proxy)
                await model.wake('p', step.proxy)
              } else {
                const { ask, answer } = asked.at(-1 - step.nth) ?? {}
                if (ask === undefined || answer === undefined) continue
                if (step.do === 'repeat') await grant([ask])
                else {
                  const proxy = answer.ok ? answer.proxy : 'x'
                  witness.reported(ask.ask, step.verdict, step.elapsedMs !== null, clock.now())
                  const outcome = reportOf(ask, proxy, step.verdict, step.elapsedMs)
                  await ledger.report([outcome])
                  await model.report([outcome])
                }
              }
            }
            expect(await ledger.scores('p', { limit: 100 })).toEqual(await model.scores('p', { limit: 100 }))
            expect(await ledger.scoresOn('p', 'a.test')).toEqual(await model.scoresOn('p', 'a.test'))
          } finally {
            await close()
          }
        }),
        { numRuns: runs(usualRuns) },
      )
    })

    it.each(['broken', 'banned'] as const)('tries a %s proxy a few times for each rest, whoever asks', async (kind) => {
      const clock = new ManualClock()
      const { ledger, close } = await make(clock)
      const random = seededRandom(7)
      const verdict: ProxyVerdict = kind === 'banned' ? { kind, retryAfterMs: null } : { kind }
      const workers = 30
      const grantsByRest: number[] = [0]
      let restsUntil: number | null = null
      const flying: { ask: ProxyAsk; endsAt: number }[] = []
      for (let step = 0; step < 300; step++) {
        const asks = Array.from({ length: Math.ceil(random() * workers) }, (_, worker): ProxyAsk => {
          const limits = { delayMs: 0, concurrency: 10 }
          return {
            ask: `${step}.${worker}`,
            pool: 'p',
            proxies: ['x'],
            host: 'a.test',
            site: 'a.test',
            limits,
            holdMs: 60_000,
          }
        })
        const answers = await ledger.grant(asks)
        answers.forEach((answer, i) => {
          if (!answer.ok) return
          grantsByRest[grantsByRest.length - 1] = (grantsByRest.at(-1) ?? 0) + 1
          flying.push({ ask: asks[i] as ProxyAsk, endsAt: clock.now() + Math.floor(random() * 400) })
        })
        clock.advance(Math.ceil(random() * 300))
        const landed = flying.filter(({ endsAt }) => endsAt <= clock.now())
        for (const one of landed) flying.splice(flying.indexOf(one), 1)
        await ledger.report(landed.map(({ ask }) => reportOf(ask, 'x', verdict, 100)))
        const scores = await ledger.scores('p', { limit: 10 })
        const until = Math.max(...scores.map((score) => score.restsUntil ?? 0))
        if (until > 0 && until !== restsUntil) {
          restsUntil = until
          grantsByRest.push(0)
        }
      }
      await close()
      const [beforeFirst, ...later] = grantsByRest
      expect(beforeFirst).toBe(REST.strikes)
      expect(later.length).toBeGreaterThan(4)
      for (const grants of later.slice(0, -1)) expect(grants).toBe(1)
    })
  })
}
