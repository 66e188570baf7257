import type { Clock } from '../../clock.js'
import { asShoalError, type ShoalError } from '../../errors.js'
import { differences } from '../../fixture/differences.js'
import { expectedOf } from '../../fixture/fixture.js'
import { type Fixture, readFixture, updateExpected } from '../../fixture/fixture-files.js'
import { handlePage, routeFor } from '../../fixture/page-result.js'
import type { Spider } from '../../spider/spider.js'
import { type CheckError, type CheckedFixture, failedFixture } from './check-report.js'

interface CheckFixtureOptions {
  readonly update: boolean
  readonly clock: Clock
  /** Called before the spider's code runs, which has this long. */
  readonly onHandler: (ms: number) => void
}

/** Null: the page belongs to another spider. Never fails. */
export async function checkFixture(
  spider: Spider,
  file: string,
  { update, clock, onHandler }: CheckFixtureOptions,
): Promise<CheckedFixture | null> {
  let fixture: Fixture | null = null
  try {
    fixture = await readFixture(file)
    if (fixture.spider !== null && fixture.spider !== spider.name) return null
    const { page, args } = fixture
    const built = args === null || spider.args === null ? spider : spider.args.build(args)
    onHandler(routeFor(built, page).handlerTimeoutMs)
    const result = await handlePage(built, page, clock)
    const { expected, ignore } = fixture
    const changed = expected === null ? [] : differences(expected, expectedOf(result), ignore)
    const state = expected === null ? 'new' : changed.length > 0 ? 'differs' : 'ok'
    const isUpdated = update && state !== 'ok'
    if (isUpdated) await updateExpected(fixture, result)
    return {
      file,
      state: isUpdated ? 'updated' : state,
      url: page.url,
      route: result.route,
      records: result.records.length,
      rejected: result.rejected.length,
      links: result.links.length,
      differences: changed,
      error: null,
    }
  } catch (thrown) {
    const error = asShoalError(thrown)
    // A page that names no spider belongs to those that can visit it.
    if (fixture?.spider === null && (error.code === 'out_of_scope' || error.code === 'no_route')) return null
    return { ...failedFixture(file, plainError(error)), url: fixture?.page.url ?? null }
  }
}

export function plainError({ code, message, hint }: ShoalError): CheckError {
  return { code, message, hint }
}
