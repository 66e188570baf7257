/**
 * What the filter did to a link other than accept it as the page has it. A link counts once: under the reason that rejected it, or under the first
 * reason of this list that applies.
 */
export const FILTER_REASONS = [
  // Changed, and thereby perhaps merged with another link.
  'session_id',
  'likely_session_id',
  'dropped_params',
  'rewritten',
  'param_order',
  'trailing_slash',
  'spelling',
  // Rejected.
  'trap_segments',
  'trap_repeats',
  'trap_params',
  'trap_session_id',
  'trap_calendar',
  'out_of_scope',
  'no_route',
  'no_group',
  'too_deep',
  'url_too_long',
  'too_many_links',
  'bad_scheme',
  'bad_url',
] as const

export type FilterReason = (typeof FILTER_REASONS)[number]

/** `kept`: unchanged, but another setting would have changed it. */
type FilterEffect = 'changed' | 'kept' | 'rejected'

/** A link that the filter changed or rejected, without secrets. */
export interface FilterExample {
  readonly url: string
  /** What it was changed to; null: it was rejected, or kept as it is. */
  readonly became: string | null
}

/** Links of a crawl's pages that the filter changed or rejected for one reason. */
export interface FilteredLinks {
  readonly reason: FilterReason
  readonly count: number
  /** The first one that was seen; null: none is known. */
  readonly example: FilterExample | null
}

interface FilterWords {
  readonly effect: FilterEffect
  readonly words: string
  /** The option of the spider that decides it; null: there is none. */
  readonly setting: string | null
}

/** The same with words for people. */
export interface DescribedLinks extends FilteredLinks, FilterWords {}

export function describeFiltered(filtered: readonly FilteredLinks[]): DescribedLinks[] {
  return filtered.map((one) => ({ ...one, ...FILTER_WORDS[one.reason] }))
}

/** As the end of a sentence about one link. */
export function filterText(reason: FilterReason): string {
  const { words, setting } = FILTER_WORDS[reason]
  return setting === null ? words : `${words} (${setting})`
}

const FILTER_WORDS: Readonly<Record<FilterReason, FilterWords>> = {
  session_id: { effect: 'changed', words: 'session id removed', setting: 'scope.traps.sessionIds' },
  likely_session_id: {
    effect: 'kept',
    words: "a parameter looks like a session id, and sessionIds: 'likely' would remove it",
    setting: 'scope.traps.sessionIds',
  },
  dropped_params: { effect: 'changed', words: 'parameters dropped', setting: 'scope.canonical.dropParams' },
  rewritten: { effect: 'changed', words: 'rewritten', setting: 'scope.canonical.rewrite' },
  param_order: { effect: 'changed', words: 'parameters sorted', setting: 'scope.canonical.sortParams' },
  trailing_slash: { effect: 'changed', words: 'trailing slash removed', setting: 'scope.canonical.trailingSlash' },
  spelling: { effect: 'changed', words: 'escapes, empty parameters or user info normalised', setting: null },
  trap_segments: { effect: 'rejected', words: 'too many path segments', setting: 'scope.traps.maxSegments' },
  trap_repeats: { effect: 'rejected', words: 'path repeats itself', setting: 'scope.traps.maxRepeat' },
  trap_params: { effect: 'rejected', words: 'too many parameters', setting: 'scope.traps.maxParams' },
  trap_session_id: { effect: 'rejected', words: 'session id in the path', setting: 'scope.traps.sessionIds' },
  trap_calendar: { effect: 'rejected', words: 'year outside 1900 to 2100', setting: 'scope.traps.calendars' },
  out_of_scope: { effect: 'rejected', words: 'out of scope', setting: 'scope.hosts, scope.allow, scope.deny' },
  no_route: { effect: 'rejected', words: 'no route matches', setting: 'routes' },
  no_group: { effect: 'rejected', words: 'no such pace group', setting: 'pace.groups' },
  too_deep: { effect: 'rejected', words: 'too many clicks from a start URL', setting: 'scope.maxDepth' },
  url_too_long: { effect: 'rejected', words: 'URL too long', setting: 'scope.maxUrlLength' },
  too_many_links: { effect: 'rejected', words: 'too many links on the page', setting: 'scope.maxLinksPerPage' },
  bad_scheme: { effect: 'rejected', words: 'neither http nor https', setting: null },
  bad_url: { effect: 'rejected', words: 'not a URL', setting: null },
}
