//! An operation up to where it would act: for explanations.
//!
//! May touch: `permit`, `resolve`. Nothing is changed, and no content is read.

use crate::access::{Access, Operation};
use crate::change;
use crate::error::{ErrorKind, Result};
use crate::explain::{Explanation, Rehearsal};
use crate::metadata::FileType;
use crate::observe::Watch;
use crate::ops::write::{called_file, existing_file, target_of};
use crate::ops::{make, no_entry, remove};
use crate::path::relative::RelPath;
use crate::permit::{Permit, Receipt};
use crate::resolve::{self, Found, Slot, Want};
use crate::root::Place;

/// `explanation`: of the same operation, and it allows it.
pub(crate) fn rehearse(place: Place, path: RelPath, explanation: Explanation) -> Rehearsal {
    let operation = explanation.operation();
    let want = want_of(operation, &path);
    // Whatever has the name is in the way of a directory.
    let path = if operation == Operation::CreateDir { path.of_any_kind() } else { path };
    // Nothing is done, so there is nothing to be told.
    let place = Place { authority: place.authority.clone().watched(Watch::default()), ..place };
    let permit = match Permit::issue(place, path, operation) {
        Ok(permit) => permit,
        Err(error) => return Rehearsal { explanation, resolver: None, leads_to: None, rule_met: None, outcome: Err(error) },
    };
    let (by, found) = resolve::rehearse(&permit, want);
    let receipt = permit.spend();
    let there = match found.and_then(|found| at_the_end(found, &receipt, want)) {
        Err(error) if operation == Operation::CreateDirAll => make::could_create_all(&receipt, error).map(|()| None),
        there => there,
    };
    let protected = there.as_ref().is_err_and(|error| error.kind() == ErrorKind::Protected);
    let rule_met = if protected { rule_met(receipt.permit(), want) } else { None };
    // The last check is for this as well (CHECK-AT-USE): nothing is told of what was taken back meanwhile.
    let (leads_to, outcome) = match receipt.close(there) {
        Ok(there) => (there, admits(there, operation).map_err(Into::into)),
        Err(error) => (None, Err(error)),
    };
    Rehearsal { explanation, resolver: Some(by), leads_to, rule_met, outcome }
}

/// The rule on the names that the path really leads to.
fn rule_met(permit: &Permit, want: Want) -> Option<String> {
    let names = resolve::names_until_refused(permit, want).ok()?;
    let rules = &permit.place().root().rules;
    let met = rules.that_match(rules.top(), &names).into_iter().min_by_key(|(_, left)| *left);
    met.filter(|(_, left)| *left < permit.need()).map(|(rule, _)| rule)
}

/// What the operation looks for.
fn want_of(operation: Operation, path: &RelPath) -> Want {
    match operation {
        Operation::Open => Want::File,
        Operation::OpenDir | Operation::ReadDir | Operation::Walk | Operation::Within | Operation::CreateDirAll => Want::Dir,
        Operation::Metadata | Operation::Copy | Operation::CopyReplace => Want::Metadata,
        Operation::SymlinkMetadata => Want::OwnMetadata,
        Operation::ReadLink => Want::LinkText,
        Operation::Write | Operation::Append => target_of(path),
        Operation::Update | Operation::SetLen | Operation::SetPermissions | Operation::SetTimes => Want::Target,
        Operation::CreateNew
        | Operation::CreateDir
        | Operation::RemoveFile
        | Operation::RemoveDir
        | Operation::RemoveDirAll
        | Operation::Rename
        | Operation::RenameReplace => Want::Name,
    }
}

/// What is there, if anything is.
fn at_the_end(found: Found, receipt: &Receipt, want: Want) -> Result<Option<FileType>> {
    let operation = receipt.permit().operation();
    Ok(match found {
        Found::File(..) => Some(FileType::File),
        // A directory that the path names by no entry of another one.
        Found::Dir(..) if want.is_slot() => match operation {
            Operation::CreateDir | Operation::CreateNew => return Err(ErrorKind::AlreadyExists.into()),
            Operation::SetPermissions | Operation::SetTimes => Some(FileType::Dir),
            Operation::Write | Operation::Append | Operation::Update | Operation::SetLen => {
                return Err(ErrorKind::IsADirectory.into());
            }
            _ => return Err(no_entry(ErrorKind::InvalidPath)),
        },
        Found::Dir(..) => Some(FileType::Dir),
        Found::Metadata(metadata) => Some(metadata.file_type()),
        Found::Link { .. } => Some(FileType::Symlink),
        Found::Slot(slot) => at_slot(&slot, receipt, want)?,
    })
}

fn at_slot(slot: &Slot, receipt: &Receipt, want: Want) -> Result<Option<FileType>> {
    let permit = receipt.permit();
    let operation = permit.operation();
    if operation == Operation::CreateDir && slot.level.as_dir < Access::Write {
        return Err(ErrorKind::Protected.into());
    }
    match operation {
        Operation::Write | Operation::Append => called_file(slot, want)?,
        Operation::Update | Operation::SetLen => drop(existing_file(slot)?),
        _ => {}
    }
    if operation == Operation::CreateNew && slot.must_be_dir {
        return Err(ErrorKind::IsADirectory.into());
    }
    match slot.see()? {
        Some(seen) => {
            remove::check(slot, receipt, &seen)?;
            if is_file_with_other_names(permit, operation, &seen.metadata) {
                return Err(ErrorKind::HardLinked.into());
            }
            match operation {
                Operation::RemoveDirAll if seen.metadata.is_dir() => remove::judge_tree(slot, &permit.place().authority)?,
                Operation::RemoveDir if seen.metadata.is_dir() => remove::look_if_empty(slot)?,
                _ => {}
            }
            Ok(Some(FileType::from_cap_std(seen.metadata.file_type())))
        }
        None => Ok(None),
    }
}

/// What is changed in place would change by its other names as well.
fn is_file_with_other_names(permit: &Permit, operation: Operation, metadata: &cap_std::fs::Metadata) -> bool {
    let in_place = matches!(operation, Operation::Append | Operation::SetLen | Operation::SetPermissions | Operation::SetTimes);
    let replaced = matches!(operation, Operation::Write | Operation::Update);
    metadata.is_file()
        && (in_place && change::names_of(metadata) > 1
            || replaced && resolve::check_names(permit.place(), change::names_of(metadata)).is_err())
}

/// Whether the operation is for what is there.
fn admits(there: Option<FileType>, operation: Operation) -> std::result::Result<(), ErrorKind> {
    let nothing = there.is_none();
    match operation {
        Operation::CreateNew | Operation::CreateDir if nothing => Ok(()),
        Operation::CreateNew | Operation::CreateDir => Err(ErrorKind::AlreadyExists),
        Operation::Write | Operation::Append | Operation::CreateDirAll if nothing => Ok(()),
        _ if nothing => Err(ErrorKind::NotFound),
        Operation::Write | Operation::Append | Operation::Update | Operation::SetLen => match there {
            Some(FileType::Dir) => Err(ErrorKind::IsADirectory),
            Some(FileType::File) => Ok(()),
            _ => Err(ErrorKind::SpecialFile),
        },
        Operation::SetPermissions | Operation::SetTimes if !matches!(there, Some(FileType::File | FileType::Dir)) => {
            Err(ErrorKind::SpecialFile)
        }
        Operation::Copy | Operation::CopyReplace if !matches!(there, Some(FileType::File | FileType::Dir)) => {
            Err(ErrorKind::SpecialFile)
        }
        Operation::RemoveFile if there == Some(FileType::Dir) => Err(ErrorKind::IsADirectory),
        Operation::RemoveDir if there != Some(FileType::Dir) => Err(ErrorKind::NotADirectory),
        Operation::RemoveDirAll if !matches!(there, Some(FileType::Dir | FileType::Symlink)) => Err(ErrorKind::NotADirectory),
        _ => Ok(()),
    }
}
