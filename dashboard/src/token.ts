import { tokenIn } from './routes.js'
import { makeStore } from './store.js'

/** The token is after the # of the address, which no server and no log ever sees, and is kept for this tab only. */
const KEPT_AS = 'shoal-token'

export const token = makeStore<string | null>(null)

export function takeToken(): void {
  const found = tokenIn(location.hash)
  if (found === null) {
    token.set(sessionStorage.getItem(KEPT_AS))
    return
  }
  history.replaceState(null, '', found.route)
  keepToken(found.token)
}

export function keepToken(value: string): void {
  sessionStorage.setItem(KEPT_AS, value)
  token.set(value)
}

export function dropToken(): void {
  sessionStorage.removeItem(KEPT_AS)
  token.set(null)
}
