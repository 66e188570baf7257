import type { LinkInfo } from '../../frontier/frontier.js'
import type { FetchRow } from '../../store/record-store.js'
import type { Output } from '../output.js'
import { clean } from '../terminal/clean.js'
import { bytes, duration, moment } from '../terminal/format.js'

/** Requests of one link, newest first. */
export function fetchTable(output: Output, fetches: readonly FetchRow[]): void {
  output.print()
  output.table(
    [
      { title: 'fetched' },
      ...['status', 'bytes', 'took', 'attempt'].map((title) => ({ title, right: true })),
      { title: 'error' },
      { title: 'worker', shrinks: true },
    ],
    fetches.map((fetch) => [
      moment(fetch.at),
      fetch.status === 0 ? '' : String(fetch.status),
      bytes(fetch.bytes),
      duration(fetch.ms),
      String(fetch.attempt),
      fetch.error ?? '',
      fetch.worker,
    ]),
  )
}

/** Errors kept with a link, oldest first. */
export function historyTable(output: Output, failures: LinkInfo['failures']): void {
  output.print()
  output.table(
    [{ title: 'failed' }, { title: 'code' }, { title: 'message', shrinks: true }],
    failures.map((failure) => [moment(failure.at), failure.code, clean(failure.message)]),
  )
}
