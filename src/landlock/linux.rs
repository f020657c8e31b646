//! The kernel's own part: its level, and the rights by which a fence is made.
//!
//! May touch: directories that are held.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, NetPort, PathBeneath, RestrictSelf,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, make_bitflags,
};

use super::{Fence, Use, Why};
use crate::access::Access;
use crate::error::{Error, Result};
use crate::fenced;

pub(super) fn kernel() -> std::result::Result<u32, Why> {
    // Without a flag nothing is restricted, and the kernel is asked for its level alone.
    match RestrictSelf::default().no_new_privs(false).apply().map(|status| status.landlock) {
        Ok(LandlockStatus::Available { effective_abi, kernel_abi }) => {
            Ok(kernel_abi.and_then(|abi| u32::try_from(abi).ok()).unwrap_or(effective_abi as u32))
        }
        Ok(LandlockStatus::NotEnabled) => Err(Why::NotEnabled),
        Ok(LandlockStatus::NotImplemented) | Err(_) => Err(Why::NotThere),
    }
}

pub(super) fn apply(fence: Fence, abi: u32) -> Result<()> {
    match restrict(fence, ABI::from(i32::try_from(abi).unwrap_or(0))) {
        Ok(RulesetStatus::FullyEnforced) => {
            fenced::set();
            Ok(())
        }
        Ok(_) => Err(Error::fence("the kernel refuses less than it says".to_owned())),
        Err(error) => Err(Error::fence(format!("the kernel does not take the fence: {error}"))),
    }
}

fn restrict(fence: Fence, abi: ABI) -> std::result::Result<RulesetStatus, RulesetError> {
    // The level was asked for, so that nothing of it may be left out in silence.
    let mut ruleset =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(AccessFs::from_all(abi))?;
    let tcp = AccessNet::from_all(abi);
    if !tcp.is_empty() {
        ruleset = ruleset.handle_access(tcp)?;
    }
    if !Scope::from_all(abi).is_empty() {
        ruleset = ruleset.scope(Scope::from_all(abi))?;
    }
    let mut made = ruleset.create()?;
    for (dir, what) in fence.held {
        let rights = rights(what) & AccessFs::from_all(abi);
        if !rights.is_empty() {
            made = made.add_rule(PathBeneath::new(dir, rights))?;
        }
    }
    for port in fence.ports.into_iter().filter(|_| !tcp.is_empty()) {
        made = made.add_rule(NetPort::new(port, AccessNet::BindTcp))?;
    }
    made.restrict_self().map(|status| status.ruleset)
}

/// What is done in a directory, and no more. `MAKE_SYM` is for renaming a link, `REMOVE_DIR` for renaming a directory and for one that is made under a
/// reserved name; `EXECUTE`, `IOCTL_DEV` and making pipes, sockets and devices are never needed.
fn rights(what: Use) -> BitFlags<AccessFs> {
    let list = make_bitflags!(AccessFs::{ReadDir});
    let read = list | AccessFs::ReadFile;
    match what {
        Use::Root(Access::None) => BitFlags::EMPTY,
        Use::Root(Access::List) => list,
        Use::Root(Access::Read) => read,
        Use::Root(Access::Write) => {
            read | make_bitflags!(AccessFs::{
                WriteFile | Truncate | MakeReg | MakeDir | MakeSym | RemoveFile | RemoveDir | Refer
            })
        }
        Use::Log => make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | MakeReg}),
    }
}
