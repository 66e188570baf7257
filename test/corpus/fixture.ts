import type { Bench } from './bench.js'

/** One case of the bad-input corpus: what a site does, and what must become of it. */
export interface Fixture {
  /** In the list of known misbehaviour; several cases may share one. */
  readonly number: number
  readonly name: string
  /** 'page', an error code with what it leads to ('timeout → retry'), or whatever the case itself says. */
  readonly expected: string
  run(bench: Bench): Promise<string>
}

export interface Result {
  readonly fixture: Fixture
  readonly got: string
  readonly ms: number
  readonly passed: boolean
}

export async function runFixture(fixture: Fixture, bench: Bench): Promise<Result> {
  const start = performance.now()
  const got = await fixture.run(bench).catch((error: unknown) => `threw ${String(error)}`)
  return { fixture, got, ms: Math.round(performance.now() - start), passed: got === fixture.expected }
}
