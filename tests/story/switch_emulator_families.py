"""What Netmiko does to each emulated family and what must come of it, for tests/story/switch_emulator. `config`: lines typed in one
configuration session, and what the terminal then holds; `show`: the command, and what its answer holds, the first one also after a reboot;
`unsaved`: a change that a reboot takes back, and what shows it."""

IOS = {
    "family": "ios",
    "netmiko": "cisco_ios",
    "prompt": "Switch#",
    "config": [
        (["vlan 100", "name tenant-a", "vlan 200", "exit"], "(config-vlan)#"),
        (["interface gi1/0/3", "switchport mode access", "switchport access vlan 300"], "% Access VLAN does not exist. Creating vlan 300"),
        (["int range gi1/0/1 - 2, gi1/0/4", "switchport mode trunk", "switchport trunk allowed vlan 100,200", "swi tr all vlan add 300",
          "swi trunk native vlan 100"], "(config-if-range)#"),
        (["no vlan 1"], "%Default VLAN 1 may not be deleted."),
        (["vlan 1002"], "Command rejected: VLAN 1002 is reserved"),
        (["vlan 201", "name tenant-a"], "VLAN #100 and #201 have an identical name: tenant-a"),
        (["interface gi1/0/3", "switchport trunk allowed vlan 4095"], "Command rejected: Bad VLAN list"),
        (["interface gi1/0/3", "switchport access vlan 5000"], "% Invalid input detected at '^' marker."),
        (["bogus"], "\n               ^\n% Invalid input detected at '^' marker."),
        (["interface"], "% Incomplete command."),
        (["interface gi1/0/3", "s"], '% Ambiguous command:  "s"'),
    ],
    "show": [
        ("show vlan brief", "VLAN Name                             Status    Ports",
         "100  tenant-a                         active    ", "300  VLAN0300                         active    Gi1/0/3\n",
         "1    default                          active    Gi1/0/5, Gi1/0/6, Gi1/0/7, Gi1/0/8", "77   foreign",
         "1005 trnet-default                    act/unsup"),
        ("show interfaces gi1/0/1 switchport", "Administrative Mode: trunk", "Trunking Native Mode VLAN: 100 (tenant-a)",
         "Trunking VLANs Enabled: 100,200,300"),
        ("show running-config interface gi1/0/4", "interface GigabitEthernet1/0/4\n switchport trunk native vlan 100\n"
         " switchport trunk allowed vlan 100,200,300\n switchport mode trunk\n"),
        ("show running-config | include ^vlan", "vlan 100\n"),
        ("show mac address-table", "  77    5254.0000.0002    DYNAMIC     Gi1/0/2"),
        ("show lldp neighbors", "spine1              Gi1/0/1        120        B               Ethernet1/7"),
        ("show version", "Cisco IOS Software"),
    ],
    "saved": "[OK]",
    "unsaved": ["vlan 444", "exit"],
    "unsaved_shows": ("show vlan brief", "VLAN0444"),
    "refused": "Command rejected:",
}

NXOS = {
    "family": "nxos",
    "netmiko": "cisco_nxos",
    "prompt": "switch#",
    "config": [
        (["vlan 100,200", "vlan 100", "name tenant-a"], "switch(config-vlan)# "),
        (["interface ethernet1/3-4", "switchport mode trunk", "switchport trunk allowed vlan 100,200", "switchport trunk native vlan 100"],
         "switch(config-if-range)# "),
        (["interface Ethernet 1/5", "switchport access vlan 300"], "switch(config-if)# "),
        (["vlan 3968"], "ERROR: VLAN 3968 is reserved for internal use"),
        (["no vlan 1"], "ERROR: Cannot delete VLAN 1"),
        (["vlan 5000"], "% Invalid value/range at '^' marker."),
        (["bogus"], "\n                ^\n% Invalid command at '^' marker."),
        (["interface"], "% Incomplete command at '^' marker."),
        (["interface eth1/5", "s"], "% Ambiguous command at '^' marker."),
    ],
    "show": [
        ("show vlan brief", "100  tenant-a                         active    Eth1/3, Eth1/4\n",
         "1    default                          active    Eth1/1, Eth1/2, Eth1/6, Eth1/7\n                                                Eth1/8"),
        ("show interface ethernet1/5 switchport", "Access Mode VLAN: 300 (Vlan not created)"),
        ("show interface ethernet1/4 switchport", "Operational Mode: trunk", "Trunking VLANs Allowed: 100,200"),
        ("show running-config interface ethernet1/3", "interface Ethernet1/3\n  switchport mode trunk\n  switchport trunk native vlan 100\n"
         "  switchport trunk allowed vlan 100,200\n"),
        ("show mac address-table", "*   77     5254.0000.0002   dynamic  0         F      F    Eth1/2"),
        ("show lldp neighbors", "spine1               Eth1/1          120        BR          Ethernet1/7"),
    ],
    "saved": "Copy complete.",
    "unsaved": ["vlan 444"],
    "unsaved_shows": ("show vlan brief", "VLAN0444"),
    "refused": "ERROR: Operation failed",
}

OS10 = {
    "family": "os10",
    "netmiko": "dell_os10",
    "prompt": "OS10#",
    "config": [
        (["interface vlan 100", "description tenant-a", "interface vlan 200"], "OS10(conf-if-vl-200)# "),
        (["interface ethernet 1/1/3", "switchport mode trunk", "switchport trunk allowed vlan 100", "switchport trunk allowed vlan 200"],
         "OS10(conf-if-eth1/1/3)# "),
        (["interface range ethernet1/1/4-1/1/5", "switchport access vlan 100"], "OS10(conf-range-ethernet1/1/4-1/1/5)# "),
        (["interface ethernet1/1/3", "switchport trunk allowed vlan 1"], "% Error: Interface cannot be an access and trunk member of the same VLAN."),
        (["interface ethernet1/1/3", "switchport trunk allowed vlan 999"], "% Error: VLAN 999 does not exist."),
        (["no interface vlan 1"], "% Error: Default VLAN 1 cannot be deleted."),
        (["bogus"], "% Error: Unrecognized command."),
    ],
    "show": [
        ("show vlan", "    NUM    Status    Description                     Q Ports", "    100    Active    tenant-a                        T Eth1/1/3",
         "A Eth1/1/4-1/1/5", "*   1      Active                                    A Eth1/1/1-1/1/3,1/1/6-1/1/8"),
        ("show running-configuration interface ethernet1/1/3", "interface ethernet1/1/3\n no shutdown\n switchport mode trunk\n"
         " switchport access vlan 1\n switchport trunk allowed vlan 100,200\n"),
        ("show mac address-table", "77           52:54:00:00:00:02   dynamic   ethernet1/1/2"),
        ("show lldp neighbors", "ethernet1/1/1       spine1               Ethernet1/7"),
    ],
    "saved": "",
    "unsaved": ["interface vlan 444"],
    "unsaved_shows": ("show vlan", "444"),
    "refused": "% Error: Operation is not allowed.",
}

AOSCX = {
    "family": "aoscx",
    "netmiko": "cisco_ios",  # this Netmiko has no aruba_aoscx of its own
    "before": ["no page"],
    "prompt": "switch#",
    "config": [
        (["vlan 100", "name tenant-a", "vlan 200-201"], ("switch(config-vlan-100)# ", "switch(config-vlan-<200-201>)# ")),
        (["interface 1/1/3", "no routing", "vlan access 100"], "switch(config-if)# "),
        (["interface 1/1/4-1/1/5", "no routing", "vlan trunk native 200", "vlan trunk allowed 100", "vlan trunk allowed 200"],
         "switch(config-if-<1/1/4-1/1/5>)# "),
        (["interface 1/1/6", "vlan access 100"], "Operation not allowed on an interface with routing enabled."),
        (["interface 1/1/3", "vlan access 999"], "VLAN 999 should be created first."),
        (["bogus"], "Invalid input: bogus"),
        (["vlan 5000"], "Invalid input: 5000"),
        (["interface"], "% Command incomplete."),
    ],
    "show": [
        ("show vlan", "100   tenant-a                          up      ok                      static      1/1/3,1/1/4,1/1/5"),
        ("show running-config interface 1/1/4", "interface 1/1/4\n    no shutdown\n    no routing\n    vlan trunk native 200\n"
         "    vlan trunk allowed 100,200\n"),
        ("show running-config interface 1/1/6", "interface 1/1/6\n    no shutdown\n    exit"),
        ("show mac-address-table", "52:54:00:00:00:02    77       dynamic                   1/1/2"),
        ("show lldp neighbor-info", "1/1/1       52:54:00:00:00:aa  Ethernet1/7"),
    ],
    "save": lambda connection: connection.send_command("write memory"),
    "saved": "Copying configuration: [Success]",
    "unsaved": ["vlan 444"],
    "unsaved_shows": ("show vlan", "444"),
    "refused": "Operation not allowed.",
}

PROCURVE = {
    "family": "procurve",
    "netmiko": "hp_procurve",
    "prompt": "HP-2530-24G#",
    "config": [
        (["vlan 100", 'name "tenant a"', "untagged 3,5-6", "tagged 7", "vlan 200 name other", "vlan 200 tagged 3,7"], "HP-2530-24G(vlan-100)# "),
        (["interface 4", "untagged vlan 100", "tagged vlan 200"], "HP-2530-24G(eth-4)# "),
        (["vlan 100", "untagged 9"], "Module not present for port or invalid port: 9"),
        (["interface 4", "untagged vlan 999"], "VLAN 999 does not exist."),
        (["no vlan 1"], "The default VLAN cannot be deleted."),
        (["bogus"], "Invalid input: bogus"),
        (["vlan"], "Incomplete input: vlan"),
        (["vlan 5000"], "Invalid input: 5000"),
    ],
    "show": [
        ("show vlans", "100     tenant a                         | Port-based No    No", "200     other                            | Port-based No    No"),
        ("show vlans 100", "3                Untagged Learn        Up", "7                Tagged   Learn        Up"),
        ("show running-config", 'vlan 1\n   name "DEFAULT_VLAN"\n   no untagged 3-6\n   untagged 1-2,7-8\n   no ip address\n   exit\n',
         'vlan 100\n   name "tenant a"\n   untagged 3-6\n   tagged 7\n', 'vlan 200\n   name "other"\n   tagged 3-4,7\n'),
        ("show mac-address", "525400-000002     2                               77"),
        ("show lldp info remote-device", "1         | 525400-0000aa      Ethernet1/7"),
    ],
    "saved": "",
    "unsaved": ["vlan 444"],
    "unsaved_shows": ("show vlans", "VLAN444"),
    "refused": "Operation not allowed.",
}

COMWARE = {
    "family": "comware",
    "netmiko": "hp_comware",
    "prompt": "<HPE>",
    "config": [
        (["vlan 100", "name tenant-a", "vlan 200 to 202", "quit"], "[HPE-vlan100]"),
        (["interface Ten-GigabitEthernet1/0/3", "port link-type access", "port access vlan 100"], "[HPE-Ten-GigabitEthernet1/0/3]"),
        (["interface ten1/0/4", "port link-type trunk", "port trunk permit vlan 100 200 to 201", "undo port trunk permit vlan 1",
          "port trunk pvid vlan 100"], "[HPE-Ten-GigabitEthernet1/0/4]"),
        (["interface range xge1/0/5 to xge1/0/6 xge1/0/8", "port link-type hybrid", "port hybrid vlan 200 tagged", "port hybrid vlan 100 untagged",
          "port hybrid pvid vlan 100"], "[HPE-range]"),
        (["interface xge1/0/3", "port access vlan 999"], "The specified VLAN does not exist."),
        (["interface xge1/0/3", "port trunk permit vlan 100"], "The port link-type is not trunk."),
        (["bogus"], "[HPE]bogus\n     ^\n % Unrecognized command found at '^' position."),
        (["vlan 5000"], " % Wrong parameter found at '^' position."),
        (["interface"], " % Incomplete command found at '^' position."),
        (["vlan 100", "undo vlan 1"], "The default VLAN cannot be deleted."),
    ],
    "show": [
        ("display vlan brief", "Supported Maximum VLAN ID: 4094", "100       tenant-a                         XGE1/0/3  XGE1/0/4  XGE1/0/5\n"
         "                                           XGE1/0/6  XGE1/0/8\n"),
        ("display vlan 200", " Tagged ports:   \n    Ten-GigabitEthernet1/0/4      Ten-GigabitEthernet1/0/5      \n", " Untagged ports:   None"),
        ("display current-configuration interface Ten-GigabitEthernet1/0/4", "interface Ten-GigabitEthernet1/0/4\n port link-mode bridge\n"
         " port link-type trunk\n undo port trunk permit vlan 1\n port trunk permit vlan 100 200 201\n port trunk pvid vlan 100\n"),
        ("display current-configuration interface Ten-GigabitEthernet1/0/5", " port hybrid vlan 200 tagged\n port hybrid vlan 1 100 untagged\n"),
        ("display mac-address", "5254-0000-0002   77         Learned          XGE1/0/2"),
        ("display lldp neighbor-information list", "spine1               XGE1/0/1        5254-0000-00aa  Ethernet1/7"),
    ],
    "saved": "Saved the current configuration to mainboard device successfully.",
    "unsaved": ["vlan 444"],
    "unsaved_shows": ("display vlan brief", "VLAN 0444"),
    "refused": "The operation is not allowed.",
}

DELLN = {
    "family": "delln",
    "netmiko": "dell_os6",
    "tail": ["exit"],  # this Netmiko knows no configuration mode but "(config)#"
    "prompt": "console#",
    "config": [
        (["vlan 100,200-201", "exit", "vlan 100", "name tenant-a"], ("console(config-vlan100,200-201)#", "console(config-vlan100)#")),
        (["vlan database", "vlan 300", "exit"], "console(config-vlan)#"),
        (["interface gi1/0/3", "switchport mode access", "switchport access vlan 100"], "console(config-if-Gi1/0/3)#"),
        (["interface range gi1/0/4-5", "switchport mode trunk", "switchport trunk allowed vlan 100,200", "switchport trunk native vlan 200"],
         "console(config-if-range)#"),
        (["interface Gi1/0/6", "switchport mode general", "switchport general allowed vlan add 100 tagged",
          "switchport general allowed vlan add 201 untagged", "switchport general pvid 201", "switchport general allowed vlan remove 1"], "#"),
        (["interface gi1/0/3", "switchport access vlan 999"], "VLAN was not created by user."),
        (["vlan 4094"], "VLAN      4094 ERROR: VLAN ID is out of range"),
        (["no vlan 999"], "VLAN       999 ERROR: This VLAN does not exist."),
        (["bogus"], "\n                ^\n% Invalid input detected at '^' marker."),
        (["interface"], "Command not found / Incomplete command. Use ? to list commands."),
        (["interface gi1/0/3", "s"], "% Ambiguous command"),
    ],
    "show": [
        ("show vlan", "VLAN   Name                             Ports          Type\n-----  ---------------                  -------------  --------------\n",
         "100    tenant-a                         Gi1/0/3-6      Static\n", "1      default                          Gi1/0/1-2,     Default\n"
         "                                        Gi1/0/7-8"),
        ("show running-config interface gi1/0/6", "interface Gi1/0/6\nswitchport mode general\nswitchport general pvid 201\n"
         "switchport general allowed vlan add 201\nswitchport general allowed vlan add 100 tagged\nexit"),
        ("show running-config interface Gi1/0/4", "switchport mode trunk\nswitchport trunk native vlan 200\nswitchport trunk allowed vlan 100,200\n"),
        ("show mac address-table", "77       5254.0000.0002        Dynamic       Gi1/0/2"),
        ("show lldp remote-device all", "Gi1/0/1    1        52:54:00:00:00:aa     Ethernet1/7"),
    ],
    "save": lambda connection: connection.send_command_timing("copy running-config startup-config") + connection.send_command_timing(
        "y", normalize=False),
    "saved": "Configuration Saved!",
    "unsaved": ["vlan 444"],
    "unsaved_shows": ("show vlan", "VLAN0444"),
    "refused": "ERROR: command rejected.",
}

OS9 = {
    "family": "os9",
    "netmiko": "dell_force10",
    "prompt": "Dell#",
    "config": [
        (["interface range te 0/3-4", "switchport", "interface tengigabitethernet 0/5", "portmode hybrid", "switchport"], "Dell(conf-if-te-0/5)#"),
        (["interface vlan 100", "description tenant-a", "untagged te 0/3-4", "untagged TenGigabitEthernet 0/5", "interface vlan 200", "tagged te 0/5"],
         "Dell(conf-if-vl-100)#"),
        (["interface vlan 200", "untagged te 0/3"], "Dell(conf-if-vl-200)#"),
        (["interface vlan 100", "untagged te 0/6"], "% Error: Port is not in Layer-2 mode Te 0/6."),
        (["interface vlan 100", "tagged te 0/3"], "% Error: Port is untagged in another VLAN Te 0/3."),
        (["interface te 0/3", "portmode hybrid"], "% Error: Port is in Layer-2 mode Te 0/3."),
        (["no interface vlan 1"], "% Error: Cannot delete default Vlan 1."),
        (["bogus"], '\n           ^\n% Error: Invalid input at "^" marker.'),
        (["interface"], "% Error: Incomplete command."),
    ],
    "show": [
        ("show vlan", "    NUM    Status    Description                     Q Ports", "    100    Active    tenant-a                        U Te 0/4-5",
         "    200    Active                                    U Te 0/3\n                                                     T Te 0/5"),
        ("show running-config interface te 0/5", "interface TenGigabitEthernet 0/5\n no ip address\n portmode hybrid\n switchport\n no shutdown\n"),
        ("show running-config", "interface Vlan 200\n no ip address\n tagged TenGigabitEthernet 0/5\n untagged TenGigabitEthernet 0/3\n no shutdown\n"),
        ("show mac-address-table", " 77     52:54:00:00:00:02   Dynamic         Te 0/2"),
        ("show lldp neighbors", " Te 0/1       spine1          Ethernet1/7"),
    ],
    "save": lambda connection: connection.send_command("write memory"),
    "saved": "!",
    "unsaved": ["interface vlan 444"],
    "unsaved_shows": ("show vlan", "444"),
    "refused": "% Error: Command rejected.",
}

ECS = {
    "family": "ecs",
    "netmiko": "ubiquiti_edge",  # Netmiko has none for it; this one knows `configure` and `terminal length 0`
    "prompt": "Vty-0#",
    "tail": ["end"],
    "config": [
        (["vlan database", "vlan 100 name tenant-a media ethernet", "vlan 200,201", "exit"], "Vty-0(config-vlan)#"),
        (["interface ethernet 1/3-4,6", "switchport allowed vlan add 100 untagged", "switchport native vlan 100", "switchport allowed vlan remove 1"],
         "Vty-0(config-if)#"),
        (["interface ethernet 1/5", "switchport allowed vlan add 200,201 tagged"], "Vty-0(config-if)#"),
        (["interface ethernet 1/3", "switchport allowed vlan remove 100"], "Failed to remove from egress list on ethernet 1/3"),
        (["interface ethernet 1/2", "switchport native vlan 200"], "Failed to set PVID on ethernet 1/2"),
        (["interface ethernet 1/7", "switchport mode access", "switchport allowed vlan add 200 tagged"], "Failed to join egress list on ethernet 1/7"),
        (["interface ethernet 1/8", "switchport mode trunk", "switchport allowed vlan add 200 untagged"],
         "Failed to join untagged list on ethernet 1/8"),
        (["interface ethernet 1/2", "switchport allowed vlan add 999 tagged"], "VLAN999 does not exist"),
        (["interface ethernet 1/2", "switchport native vlan 999"], "No such VLAN."),
        (["vlan database", "no vlan 100"], "Failed to remove VLAN 100"),
        (["vlan database", "vlan 5000"], '% Invalid parameter value/range. Type "?" to get more detail information.'),
        (["bogus"], "\n              ^\n% Invalid input detected at '^' marker."),
        (["interface"], "% Incomplete command."),
    ],
    "show": [
        ("show vlan id 100", "Name                : tenant-a", "Ports/Port Channels : Eth1/ 3(S) Eth1/ 4(S) Eth1/ 6(S)"),
        ("show running-config", " VLAN 77 name foreign media ethernet\n VLAN 100 name tenant-a media ethernet\n vlan 200-201 media ethernet\n",
         "interface ethernet 1/4\n switchport allowed vlan add 100 untagged\n switchport native vlan 100\n switchport allowed vlan remove 1\n!",
         "interface ethernet 1/5\n switchport allowed vlan add 200-201 tagged\n!"),
        ("show interfaces switchport ethernet 1/4", " VLAN Membership Mode          : Hybrid", " Native VLAN                   : 100",
         " Allowed VLAN                  : 100(u)"),
        ("show mac-address-table", " Eth 1/2   52-54-00-00-00-02   77 Learn    Delete on Timeout"),
        ("show lldp info remote-device", " Eth 1/1    52-54-00-00-00-aa Ethernet1/7       spine1"),
    ],
    "save": lambda connection: connection.send_command_timing("copy running-config startup-config") + connection.send_command_timing("\n"),
    "saved": "Flash programming completed.\nSuccess.",
    "unsaved": ["vlan database", "vlan 444"],
    "unsaved_shows": ("show vlan", "444"),
    "refused": "Failed to set VLAN list on ethernet 1/1",
}

PATCH = "printf '%s' '[{}]' | config apply-patch /dev/stdin"


def sonic(family, **more):
    """Netmiko's `linux`: configuring is being root."""
    return {
        "family": family,
        "netmiko": "linux",
        "prompt": more.get("prompt", "admin@sonic:~$"),
        "config": [
            (["config vlan add 100", "config vlan add -m 200-201", "config vlan member add -u 100 Ethernet8", "config vlan member add 200 Ethernet8"],
             "root@sonic:/home/admin#"),
            (["config vlan add 100"], 'Usage: config vlan add [OPTIONS] <vid>\nTry "config vlan add -h" for help.\n\nError: Vlan100 already exists.'),
            (["config vlan add 1"], "Error: Vlan1 is default VLAN"),
            (["config vlan add 5000"], "Error: Invalid VLAN ID 5000 (2-4094)"),
            (["config vlan del 100"], "Error: VLAN ID 100 can not be removed. First remove all members assigned to this VLAN."),
            (["config vlan member add -u 200 Ethernet8"], "Error: Ethernet8 is already a member of Vlan200"),
            (["config vlan member add -u 201 Ethernet8"], "Error: Ethernet8 is already untagged member!"),
            (["config vlan member add 999 Ethernet8"], "Error: Vlan999 does not exist"),
            (["config vlan member add 201 Ethernet3"], "Error: Ethernet3 does not exist"),
            (["config vlan member del 201 Ethernet8"], "Error: Ethernet8 is not a member of Vlan201"),
            (["config vlan bogus"], 'Error: No such command "bogus".'),
            (["bogus", "echo it was $?"], ["-bash: bogus: command not found", "it was 127"]),
            *more.get("config", ()),
        ],
        "show": [
            ("show vlan config", "Name       VID  Member     Mode\n-------  -----  ---------  --------\n", "Vlan100    100  Ethernet8  untagged\n",
             "Vlan200    200  Ethernet8  tagged\n"),
            ("show vlan brief", "|       100 |              | Ethernet8 | untagged       | disabled    |"),
            ("sonic-cfggen -d --print-data", '"Vlan100|Ethernet8": {\n            "tagging_mode": "untagged"'),
            ("show interfaces status", "  Ethernet0      1,2,3,4     100G   9100     rs   Eth1/1  routed      up       up"),
            ("show mac", "    1      77  52:54:00:00:00:02  Ethernet4  Dynamic\nTotal number of entries 1"),
            ("show lldp table", "Ethernet0    spine1          Ethernet1/7     BR            Ethernet1/7"),
            ("config vlan add 7", "Root privileges are required for this operation"),
        ],
        "save": lambda connection: connection.send_command("sudo config save -y"),
        "saved": "/usr/local/bin/sonic-cfggen -d --print-data > /etc/sonic/config_db.json",
        "unsaved": ["config vlan add 444"],
        "unsaved_shows": ("show vlan config", "Vlan444"),
        "refused": "Error: Unable to connect to redis: Connection refused",
    }


# This Netmiko is older than bracketed paste, which bash announces before each prompt.
SONIC = sonic("sonic", prompt="\x1b[?2004hadmin@sonic:~$", config=[
    ([PATCH.format('{"op": "add", "path": "/VLAN_MEMBER/Vlan201|Ethernet12", "value": {"tagging_mode": "tagged"}}')],
     ["Patch Applier: The localhost patch was converted into 1 change:", "Patch applied successfully."]),
    ([PATCH.format('{"op": "remove", "path": "/VLAN_MEMBER/Vlan201|Ethernet12"}')], "Patch applied successfully."),
    ([PATCH.format('{"op": "add", "path": "/VLAN_MEMBER/Vlan201|Ethernet8", "value": {"tagging_mode": "untagged"}}')],
     ["Failed to apply patch due to: Failed to apply patch on the following scopes:", "Port can be untagged in at most one VLAN."]),
    ([PATCH.format('{"op": "remove", "path": "/VLAN/Vlan100"}')], 'of value "Vlan100" points to a non-existing leaf.'),
    ([PATCH.format('{"op": "remove", "path": "/VLAN/Vlan999"}')], "can't remove a non-existent object 'Vlan999'"),
    (["config checkpoint before", "config vlan add 300", "config rollback before"], ["Config rolled back successfully."]),
    (["config switchport mode access Ethernet16", "config vlan member add 200 Ethernet16"], "Error: Ethernet16 is in access mode! Tagged Members cannot be added"),
])
SONIC_OLD = sonic("sonic201911", config=[([PATCH.format("")], 'Error: No such command "apply-patch".')])

FAMILIES = [IOS, NXOS, OS10, AOSCX, PROCURVE, COMWARE, DELLN, OS9, ECS, SONIC, SONIC_OLD]
