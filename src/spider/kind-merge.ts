import { spiderError } from '../error-place.js'
import { ShoalError } from '../errors.js'
import { identityOfFields, normalIdentity } from '../merge/identity.js'
import type { Preference } from '../merge/merge-records.js'
import { namedText } from '../thrown.js'
import { shown } from '../units.js'
import { siteOf } from '../url/host.js'
import type { Json } from '../url/link.js'
import type { CheckedMerge } from './definition-schema.js'
import type { KindMerge } from './spider.js'

/** The `merge` of a record kind, checked and compiled. */
export function kindMerge(kind: string, { identity, ignoreCase, prefer, default: otherwise }: CheckedMerge): KindMerge {
  const path = `records.${kind}.merge`
  for (const [field, preference] of Object.entries(prefer)) checkSites(`${path}.prefer.${field}`, preference)
  checkSites(`${path}.default`, otherwise)
  const fields = typeof identity === 'string' ? [identity] : identity
  return {
    identity(data) {
      if (typeof fields !== 'function') return identityOfFields(data, fields, ignoreCase)
      return normalIdentity(called(path, fields as (data: Json) => unknown, data), ignoreCase)
    },
    spelling: (text) => normalIdentity(text, ignoreCase),
    rules: { prefer: new Map(Object.entries(prefer)), otherwise },
  }
}

function called(path: string, identity: (data: Json) => unknown, data: Json): unknown {
  let value: unknown
  try {
    value = identity(data)
  } catch (error) {
    throw spiderError('handler_error', error, `${path}.identity: ${namedText(error)}`)
  }
  if (value === null || value === undefined || typeof value === 'string' || typeof value === 'number') return value
  throw new ShoalError('handler_error', `${path}.identity: must return a string, a number or null, not ${shown(value)}`)
}

/** Records have the registrable domain: a rule for any other name would never apply. */
function checkSites(path: string, preference: Preference): void {
  if (typeof preference === 'string') return
  preference.sites.forEach((name, index) => {
    const site = siteOf(name.toLowerCase())
    if (site === name && /^[^\s/:@]+$/.test(name)) return
    const wrong = site === name ? `${shown(name)} is not a domain` : `the site of ${shown(name)} is '${site}'`
    throw new ShoalError('spider_invalid', `${path}.sites[${index}]: ${wrong}`)
  })
}
