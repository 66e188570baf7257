import { makeStore } from './store.js'

/** The token comes behind the # of the address, which no server and no log ever sees, and is kept for this tab only. */
const KEPT_AS = 'shoal-token'
const IN_ADDRESS = /^#token=([^&]+)(?:&to=(.*))?$/

export const token = makeStore<string | null>(null)

export function tokenIn(hash: string): { readonly token: string; readonly route: string } | null {
  const [, found, to] = IN_ADDRESS.exec(hash) ?? []
  return found === undefined ? null : { token: plain(found), route: `#${to?.startsWith('/') ? to : '/'}` }
}

function plain(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

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
