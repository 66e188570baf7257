import { dirname } from 'node:path'
import { createPathsMatcher, getTsconfig } from 'get-tsconfig'
import { textOf } from '../thrown.js'

/** The tsconfig.json of a spider's project: its `paths` and `baseUrl` apply to what the spider imports. */
export interface ProjectPaths {
  readonly file: string
  /** Its patterns, as in `@/*`. */
  readonly patterns: readonly string[]
  /** The files that the name of a module may mean; empty: no pattern matches. */
  candidates(module: string): readonly string[]
  /** Why it cannot be used: it is not JSON, or extends a file that is not there. Null: it can. */
  readonly fault: string | null
}

/** The nearest one above the spider file; null: there is none. It is read, never required: one that is broken only matters when an import is missing. */
export function projectPathsOf(spiderFile: string): ProjectPaths | null {
  try {
    const config = getTsconfig(dirname(spiderFile))
    if (config === null) return null
    const matcher = createPathsMatcher(config)
    return {
      file: config.path,
      patterns: Object.keys(config.config.compilerOptions?.paths ?? {}),
      candidates: (module) => matcher?.(module) ?? [],
      fault: null,
    }
  } catch (error) {
    return { file: 'tsconfig.json', patterns: [], candidates: () => [], fault: textOf(error) }
  }
}
