/**
 * Optional traces of a URL's life: a span for the visit and one for each of its steps. Nothing here depends on a library; without traces no
 * visit has a `trace`, and a step costs one comparison.
 */
export interface Tracing {
  /** One visit; everything `work` does is part of it. */
  visit<Result>(about: Attributes, work: (trace: VisitTrace) => Promise<Result>): Promise<Result>
  /** Sends pending spans, which would otherwise be lost when the worker ends. */
  flush(): Promise<void>
}

export interface VisitTrace {
  /** One step; what it throws is recorded and rethrown. */
  step<Result>(step: TracedStep<Result>, work: () => Promise<Result>): Promise<Result>
  /** How the visit ended, if it did. */
  ended(end: VisitEnd): void
}

export interface TracedStep<Result> {
  readonly name: string
  /** A request to a site. */
  readonly client?: boolean
  readonly about?: Attributes
  /** What its result adds. */
  readonly learnt?: (result: Result) => Attributes
}

interface VisitEnd {
  /** done, retry, dead, skipped, back; stale: the lease was lost. */
  readonly outcome: string
  readonly error?: { readonly code: string; readonly message: string }
}

export type Attributes = Readonly<Record<string, string | number | boolean>>
