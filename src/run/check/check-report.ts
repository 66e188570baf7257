import type { ErrorCode } from '../../errors.js'
import type { Difference } from '../../fixture/differences.js'

/** What `shoal check` found out about one spider file. */
export interface CheckReport {
  readonly file: string
  /** Null: it could not be loaded, and `error` says why. */
  readonly spider: CheckedSpider | null
  readonly error: CheckError | null
  readonly fixtures: readonly CheckedFixture[]
}

export interface CheckedSpider {
  readonly name: string
  readonly routes: number
  readonly kinds: number
  /** Declared without effect. */
  readonly warnings: readonly string[]
  /** Pages in the folder of fixtures that nothing says the URL of. */
  readonly skipped: readonly string[]
}

export interface CheckedFixture {
  readonly file: string
  /** `new`: nobody has said yet what is expected. */
  readonly state: 'ok' | 'new' | 'differs' | 'updated' | 'error'
  readonly url: string | null
  readonly route: string | null
  readonly records: number
  readonly rejected: number
  readonly links: number
  readonly differences: readonly Difference[]
  readonly error: CheckError | null
}

export interface CheckError {
  readonly code: ErrorCode
  readonly message: string
  readonly hint: string
}

/** A page of which nothing is known but that it failed. */
export function failedFixture(file: string, error: CheckError): CheckedFixture {
  return { file, state: 'error', url: null, route: null, records: 0, rejected: 0, links: 0, differences: [], error }
}

export function isFailed({ state }: CheckedFixture): boolean {
  return state === 'differs' || state === 'error'
}
