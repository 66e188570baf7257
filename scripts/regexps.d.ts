export interface FoundRegExp {
  readonly line: number
  /** Null if it is only known when the program runs. */
  readonly pattern: string | null
  readonly flags: string
  /** As it is written. */
  readonly code: string
}

export function regexpsIn(text: string, file: string): FoundRegExp[]
