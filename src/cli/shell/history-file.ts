import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'

/** By the XDG Base Directory Specification, which wants relative paths ignored. Null: there is no home directory. */
export function historyFile(env: NodeJS.ProcessEnv, home = homedir()): string | null {
  const state = env.XDG_STATE_HOME ?? ''
  if (isAbsolute(state)) return join(state, 'shoal', 'shell_history')
  return isAbsolute(home) ? join(home, '.local', 'state', 'shoal', 'shell_history') : null
}
